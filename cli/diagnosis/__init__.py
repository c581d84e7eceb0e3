"""A diagnosis as text: its ledger, its critical path and what to measure next."""
