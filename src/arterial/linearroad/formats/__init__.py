"""The layouts of Linear Road: events as columns and lines, answers as columns and lines of three dialects.

Others import `events`, `answers` and `dialects`. Begin with `events`.
"""
