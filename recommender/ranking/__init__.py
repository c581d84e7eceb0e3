"""Which configurations to try, in which order, and what to expect of them."""
