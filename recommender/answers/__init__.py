"""Answers to questions: recommendations, predictions, diagnoses with remedies."""
