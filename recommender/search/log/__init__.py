"""The log of a search in Optuna's storage."""
