"""Sinks that a user names by URI: files that grow, standard output, SQLite, PostgreSQL, webhooks.

`uris` says which URI is which sink. `driver.DriverSink` is the base of those that write when a step is committed;
`database.DatabaseSink` of those with a transaction. Begin with `uris`, then `driver`.
"""
