"""Training and serving steps composed from operators."""
