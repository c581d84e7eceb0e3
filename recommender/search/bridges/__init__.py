"""The search inside other tools: Optuna and Kernel Tuner."""
