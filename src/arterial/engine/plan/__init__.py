"""From a network to a plan: superboxes, levels, channels. Plain data and pure functions (decision 2).

Others import `compile.compile_network` and the types of `plan`. Begin with `plan`, then `compile`; `picture` draws one.
"""
