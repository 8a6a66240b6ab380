"""The validator: judges any system's output against the input, from the formal tables alone."""
