"""What the known cases teach: response models, and how far each kind of evidence can be trusted."""
