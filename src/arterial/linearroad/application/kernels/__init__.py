"""The vectorised kernels of the Linear Road application: from state and the columns of whole seconds to answers.

Only the boxes import them, never the validator. Begin with `trips`, then `statistics` and `tolls`; `host` runs all of
them without an engine.
"""
