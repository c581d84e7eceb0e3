"""Numbers from running something: commands in process groups of their own, and what they printed."""
