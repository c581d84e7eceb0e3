"""The workspace for other programs: over HTTP, and as tools of an agent."""
