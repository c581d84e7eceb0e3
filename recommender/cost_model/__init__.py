"""The cost model: time, memory and energy of operators, training steps and serving steps."""
