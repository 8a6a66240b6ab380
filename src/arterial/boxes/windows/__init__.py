"""Boxes that answer from a window of a stream: of time, of tuples, or of a session. Begin with `tumble`."""
