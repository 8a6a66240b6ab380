"""The rating (VLDB 2004, §3.3): the largest number of expressways that a system serves rightly and in time.

Others import `rate`. Begin with `rate`, then `trial` (one run of the system) and `ladder` (which size is next).
"""
