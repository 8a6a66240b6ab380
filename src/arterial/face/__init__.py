"""The public face: `run` and `collect`, for a network and whatever a user names as its sources and outputs.

Users import all of it from `arterial`. Begin with `run`, then `bindings`; how a value becomes a source or a sink is in
`arterial.connectors.uri`.
"""
