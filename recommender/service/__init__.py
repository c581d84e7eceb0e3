"""The workspace for other programs: over HTTP, as a SPARQL endpoint, and as tools of an agent."""
