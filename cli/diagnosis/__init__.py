"""A diagnosis as text: its ledger, findings and logs."""
