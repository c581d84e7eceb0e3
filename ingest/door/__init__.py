"""The one door for cases: what a record may say, and the case it becomes."""
