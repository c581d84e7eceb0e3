"""Carbon: intensity series, forecasts, plans, waiting, power curves and indices."""
