"""Linear City's traffic: a microscopic simulation of its expressways (VLDB 2004, §3.1.1)."""
