"""Text for people: lines that fit, tables that fit, and the language that they are in."""
