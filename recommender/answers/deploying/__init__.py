"""A decision as files that deploy it: the engines of each role, their scripts and their manifests."""
