"""Which known problems have something to say about this one."""
