"""`arterial check`: what a network can bear, by its figures, and `--replay`, which tries it."""
