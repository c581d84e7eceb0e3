"""What the configuration of a checkpoint states: the structure of its network, the format of its weights."""
