"""What a workspace holds, as lists: its contents, what can be named, and what the evidence covers."""
