"""The state of a slot: chunks in files, an index in Spark's state store that says which of them are valid.

Others import `slot_state.SlotState`, `overlay.Overlay` and `chunk_files.DamagedStateError`. Begin with `slot_state`
(decisions 12 and 18).
"""
