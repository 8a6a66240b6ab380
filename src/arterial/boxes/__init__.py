"""The boxes, one a file."""
