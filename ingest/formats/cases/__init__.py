"""The project's own formats of cases, and tables that a mapping explains."""
