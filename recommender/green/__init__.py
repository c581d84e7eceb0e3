"""When to run and what it costs in carbon: series, forecasts, plans, waiting, power curves and indices."""
