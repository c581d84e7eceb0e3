"""The plan: a start configuration, the changes worth testing on it in order, and what is not for a question."""
