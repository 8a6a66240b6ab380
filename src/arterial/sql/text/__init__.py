"""The text of a query: its characters and tokens, the GPAC clauses, what each clause says. Begin with `parse`."""
