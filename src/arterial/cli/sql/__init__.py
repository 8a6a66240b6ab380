"""`arterial sql`: a query over files or standard input, and how its answers are printed. Begin with `sql`."""
