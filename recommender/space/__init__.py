"""The declared search space: parameters, constraints, and the files that hold them."""
