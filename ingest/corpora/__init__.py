"""Public corpora of measured cases: their catalogue, and how one is fetched from where it is published."""
