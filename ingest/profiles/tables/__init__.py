"""Tables that profilers write as CSV, JSON or text."""
