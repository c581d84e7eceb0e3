"""What an operator, a training step and a serving step cost, from facts of hardware and model."""
