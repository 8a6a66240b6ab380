"""The state of a slot: chunks in files, an index in Spark's state store that says which of them are valid.

Others import `slot_state.SlotState` and `overlay.Overlay`. Begin with `slot_state` (decisions 12 and 18).
"""
