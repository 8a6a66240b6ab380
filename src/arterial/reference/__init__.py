"""The interpreter: a tuple at a time, in plain Python; it defines what every box means."""
