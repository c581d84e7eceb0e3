"""Lists of a workspace: its contents, what can be named, and what the evidence covers."""
