"""The boxes of Linear Road, one for each section of the paper that says what must be computed.

`application.network` draws them. Begin with `trips`, then `tolls`.
"""
