"""Times of single operators: roofline, collectives, learned residuals."""
