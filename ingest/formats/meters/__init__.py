"""Logs of power and energy: what meters of devices and trackers write."""
