"""The project's formats of cases, and tables that a mapping explains."""
