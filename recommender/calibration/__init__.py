"""Calibration on known cases: response models, and the reliability of each kind of evidence."""
