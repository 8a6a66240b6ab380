"""Tables outside as the rows of `net.loaded_relation`: files, SQLite, PostgreSQL; looked at again on a schedule.

`source` has the base class and says when a change holds; `file` and `database` read; `uris` says which one is meant.
Begin with `source`.
"""
