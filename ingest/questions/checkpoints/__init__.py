"""Configuration of a checkpoint: the structure of its network, the format of its weights."""
