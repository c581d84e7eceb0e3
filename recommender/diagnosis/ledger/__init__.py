"""The ledger of a run: every microsecond of its steps assigned once."""
