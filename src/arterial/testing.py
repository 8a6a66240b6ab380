"""Public helpers for testing networks and boxes."""
