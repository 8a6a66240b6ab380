"""Watchers of a run: metrics over HTTP, a log, lineage events. They read what it says of itself; it waits for none.

Begin with `watchers`: what an operator asks for, and what a watcher is. Other rooms import `Watch` from there.
"""
