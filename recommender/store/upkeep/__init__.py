"""What keeps a workspace sound: marks that its parts compare, checks, repairs, backups."""
