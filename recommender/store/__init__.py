"""The files of a workspace: opened, written, checked, merged, versioned."""
