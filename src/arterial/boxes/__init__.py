"""The boxes, one file each: `arterial.boxes.<room>.<kind>` has the class of that kind, its traits and documentation.

`process` is the vectorised function that the engine runs; the module of the same name in `arterial.reference` defines
what the box means. To be here is to be registered: importing this package defines every box in it, and `Box.kinds` then
has them by their words. `parts/` holds what several boxes are made of. Begin reading with `tuples.filter` and
`windows.tumble`.
"""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    if not _module.ispkg and ".parts." not in _module.name:
        import_module(_module.name)
