"""The sections of a report, one module each: plain JSON content in, markup out."""
