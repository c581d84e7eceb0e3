"""The nouns of tuning as frozen values: problems, cases, knowledge, effects, outcomes."""
