"""Rules and evidence on what cannot run."""
