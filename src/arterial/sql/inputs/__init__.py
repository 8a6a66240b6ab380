"""What a query reads: files and standard input as streams and tables, and how it is run over them.

Others import `reading` and `live`. Begin with `reading`.
"""
