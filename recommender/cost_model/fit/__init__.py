"""Constants fitted to measured operators."""
