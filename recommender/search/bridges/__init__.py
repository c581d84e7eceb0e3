"""The search inside Optuna."""
