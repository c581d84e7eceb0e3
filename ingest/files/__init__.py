"""Files of others, read without harm: bounded, unpacked, with the line of every value."""
