"""From keys to slots: the hash of key columns, and the slot that each tuple belongs to.

All that splits tuples by key imports from here, so that state and tuples always meet. Begin with `slots`.
"""
