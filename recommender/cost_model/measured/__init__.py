"""Measured runs beside their prices, and what they say of prices of steps that nobody has run."""
