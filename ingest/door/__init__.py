"""The one door for cases: the form of a record, and its conversion to a case."""
