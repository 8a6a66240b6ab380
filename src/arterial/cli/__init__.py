"""The commands of `arterial`, one a file; those that belong together are in a room.

Nothing imports from here but the commands themselves. Begin with `main`, where each is registered, then `run`.
"""
