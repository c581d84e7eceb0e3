"""Readers: files to cases, knowledge files to nouns, questions to problems, profiles to facts."""

__tunegraph__ = True
