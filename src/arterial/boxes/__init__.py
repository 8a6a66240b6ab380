"""The boxes, one file each: `arterial.boxes.<kind>` has the class of that kind, with its traits, and its documentation.

`process` is the vectorised function that the engine runs; `arterial.reference.<kind>` defines what the box means. To be
here is to be registered: importing this package defines every box in it, and `Box.kinds` then has them by their words.
`parts/` holds what several boxes are made of. Begin reading with `filter` and `tumble`.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")
