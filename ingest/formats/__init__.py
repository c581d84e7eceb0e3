"""The formats of cases, one module each, and the registry that recognises them."""
