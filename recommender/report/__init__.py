"""The report: one page that opens anywhere, drawn from plain JSON content."""
