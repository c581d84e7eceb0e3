"""What a workspace rests on: shipped knowledge or a team's workspace, with its own records above it."""
