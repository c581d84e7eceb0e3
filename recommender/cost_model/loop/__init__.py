"""A replay of a serving scheduler over requests, where averages of steps are not good enough."""
