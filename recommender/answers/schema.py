"""The version of the JSON that commands print and the service sends."""

SCHEMA_VERSION = 2
"""Version of all JSON output; raised when a key changes its meaning or goes away."""
