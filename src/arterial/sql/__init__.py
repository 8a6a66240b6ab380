"""Text queries to networks."""
