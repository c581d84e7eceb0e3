"""The nouns: frozen, true from birth, free of any store."""
