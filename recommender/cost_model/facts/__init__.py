"""Facts of devices and models that the cost model reads."""
