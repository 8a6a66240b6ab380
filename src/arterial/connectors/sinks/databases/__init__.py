"""Sinks that write to tables of a database, exactly once by the number of the step. Begin with `database`."""
