"""The sinks: files of parts, files that grow, memory, tables, standard output, SQLite, PostgreSQL, webhooks.

`uris` says which URI is which sink. `appended.AppendedSink` is the base of files that grow, `driver.DriverSink` of
sinks that write when a step is committed, `database.DatabaseSink` of those with a transaction. Begin with `files`.
"""
