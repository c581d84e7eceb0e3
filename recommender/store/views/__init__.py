"""What an open workspace offers, layer upon layer: contents, questions, answers, plans of carbon, pages."""
