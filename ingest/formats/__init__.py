"""The formats of case files, one module each, and the registry that recognises them."""
