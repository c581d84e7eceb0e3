"""Deployments that serve a model: layouts, devices, load, and what measured ones say."""
