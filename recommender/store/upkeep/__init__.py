"""Upkeep of a workspace: marks that its parts compare, checks, repairs, backups."""
