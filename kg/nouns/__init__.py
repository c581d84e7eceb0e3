"""The nouns of tuning: frozen values that every other part speaks of."""
