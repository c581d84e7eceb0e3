"""One rank of a profile: its kernels, its communication, its earlier run, its facts with a loss repaired."""
