"""Files of events and of updates: reading them, setting bad lines aside, running them in this process.

Others import `event_file` and `run`. Begin with `event_file`.
"""
