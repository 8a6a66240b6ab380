"""Makes the pages of the boxes from their classes: `python -m tools.box_pages` writes docs/boxes/.

A page is the docstring of a class: what the box does, its parameters, an example that runs, and its ports and traits.
In the index, docs/boxes/README.md, what stands between the marks is made here, the rest is written by hand.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from arterial.drawing import Network, StreamHandle
from arterial.network import box as box_module
from arterial.network.box import ALL_PORTS, Box

ROOMS = ("arterial.boxes", "arterial.moving.boxes")
"""The packages whose boxes have pages."""

FOLDER = Path(__file__).parents[1] / "docs" / "boxes"
INDEX = "README.md"
BEGIN, END = "<!-- made by `python -m tools.box_pages`: begin -->", "<!-- made by `python -m tools.box_pages`: end -->"

TRAITS = (
    "stateless", "takes_signed", "passes", "independent", "regroups", "compares_equals", "keeping", "connectable",
    "thinnable", "thinnable_by_group", "inseparable", "everywhere", "splits_by_group", "windowed", "movable", "reads",
    "remembers", "changes", "commutes_with", "lowers", "never_fails", "selects", "copies", "computes", "carries",
    "stale", "apart",
)  # fmt: skip
"""The traits, in the order of the table."""


@dataclass(frozen=True)
class Documentation:
    """A class's docstring, taken apart."""

    summary: str
    body: str
    parameters: dict[str, str]
    example: str


@cache
def own_boxes() -> dict[str, type[Box]]:
    """The kinds of box of Arterial's own rooms, by their words."""
    for room in ROOMS:
        package = import_module(room)
        for module in walk_packages(package.__path__, f"{room}."):
            import_module(module.name)
    found = {word: kind for word, kind in Box.kinds.items() if kind.__module__.startswith(ROOMS)}
    return dict(sorted(found.items()))


def pages() -> dict[str, str]:
    """The text of every page, by the name of its file."""
    made = {f"{word}.md": page(kind) for word, kind in own_boxes().items()}
    return made | {INDEX: index((FOLDER / INDEX).read_text())}


def documentation(kind: type[Box]) -> Documentation:
    """What the docstring of a class says, with the parameters of its bases."""
    text, _, example = inspect.cleandoc(kind.__doc__ or "").partition("\n>>> ")
    prose, _, parameters = text.partition("\nParameters:\n")
    summary, _, body = prose.partition("\n\n")
    described = dict(_parameters(parameters))
    for base in kind.__mro__[1:]:
        if base is not Box and issubclass(base, Box):
            inherited = inspect.cleandoc(base.__doc__ or "").partition("\nParameters:\n")[2].partition("\n>>> ")[0]
            described |= dict(_parameters(inherited))
    return Documentation(_joined(summary), body.strip(), described, f">>> {example.rstrip()}" if example else "")


def parameters_of(kind: type[Box]) -> list[str]:
    """The names of the parameters of a box, beside its name."""
    common = {field.name for field in fields(Box)}
    return [field.name for field in fields(kind) if field.name not in common]


def page(kind: type[Box]) -> str:
    """The page of a box."""
    said = documentation(kind)
    source = f"{kind.__module__.replace('.', '/')}.py"
    parts = [
        f"# {title(kind)}",
        f"<!-- Made by `python -m tools.box_pages` from src/{source}; change that file. -->",
        _linked(said.summary, kind),
    ]
    if said.body:
        parts.append(_linked(said.body, kind))
    if call := _drawn_by(kind):
        parts.append(f"Drawn by `{call}`.")
    names = parameters_of(kind)
    if names:
        parts.append("\n".join(f"- `{name}`: {_linked(said.parameters.get(name, ''), kind)}" for name in names))
    parts.append(f"```python\n{said.example}\n```")
    parts.append(f"Ports: {_ports(kind)}. [Traits](README.md#traits): {_traits_in_words(kind)}.")
    return "\n\n".join(parts) + "\n"


def index(text: str) -> str:
    """The index, with the tables of boxes and traits made again between their marks."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{_boxes()}\n\n{_traits()}\n\n{END}{after}"


def title(kind: type[Box]) -> str:
    """The name of a class, for people."""
    return kind.__name__.removesuffix("Box") or kind.__name__


def trait(kind: type[Box], name: str) -> str:
    """What a class says of a trait, as a cell of the table: nothing where it has the default."""
    value = inspect.getattr_static(kind, name)
    if value is inspect.getattr_static(Box, name):
        return ""
    if isinstance(value, frozenset):
        return "yes" if value is ALL_PORTS else ", ".join(sorted(value))
    return "yes" if value is True or callable(value) or isinstance(value, property) else str(value)


def _boxes() -> str:
    rows = [
        f"| [{title(kind)}]({word}.md) | {documentation(kind).summary.rstrip('.')} | {_ports(kind)} |"
        for word, kind in own_boxes().items()
    ]
    return "\n".join(["| box | what it does | ports |", "|---|---|---|", *rows])


def _traits() -> str:
    said = "\n".join(f"- `{name}`: {text}" for name, text in trait_documentation().items())
    head = "| box | " + " | ".join(f"`{name}`" for name in TRAITS) + " |"
    rows = [
        f"| {title(kind)} | " + " | ".join(trait(kind, name) for name in TRAITS) + " |" for kind in own_boxes().values()
    ]
    table = "\n".join([head, "|---" * (len(TRAITS) + 1) + "|", *rows])
    return f"## Traits\n\n{_INTRODUCTION}\n\n{said}\n\n{table}"


_INTRODUCTION = """\
A box says what may be done to it; the engine knows no kind of box by its name. A class that says nothing gets the
default, which is safe for any box. In the table, `yes` means that the class says something of its own, and names of
ports that this holds for these inputs only."""


def trait_documentation() -> dict[str, str]:
    """What each trait means, as the class `Box` documents it."""
    tree = ast.parse(inspect.getsource(box_module))
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Box")
    found = {}
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef) and node.name in TRAITS:
            found[node.name] = _joined((ast.get_docstring(node) or "").partition("\n\n")[0])
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in TRAITS:
            assert isinstance(following, ast.Expr)
            assert isinstance(following.value, ast.Constant)
            found[node.target.id] = _joined(str(following.value.value))
    return {name: found[name] for name in TRAITS}


def _traits_in_words(kind: type[Box]) -> str:
    said = [(name, trait(kind, name)) for name in TRAITS]
    words = [f"`{name}`" if value == "yes" else f"`{name}` ({value})" for name, value in said if value]
    return ", ".join(words) or "none"


def _ports(kind: type[Box]) -> str:
    """The ports of a box whose parameters have their defaults."""
    bare = object.__new__(kind)
    inputs = ", ".join(bare.inputs) or "–"
    return f"{inputs} → {', '.join(bare.outputs) or '–'}"


def _drawn_by(kind: type[Box]) -> str:
    """The call that draws such a box: a method of a stream or a network, or a function, of the kind's name."""
    module = sys.modules[kind.__module__]
    for owner, prefix in ((StreamHandle, "stream."), (Network, "net."), (module, "")):
        function = getattr(owner, kind.kind, None)
        if function is not None:
            return f"{prefix}{kind.kind}{_signature(function)}"
    return ""


def _signature(function: object) -> str:
    assert callable(function)
    signature = inspect.signature(function)
    shown = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    return str(signature.replace(parameters=shown, return_annotation=inspect.Signature.empty))


def _parameters(text: str) -> Iterator[tuple[str, str]]:
    for one in re.split(r"\n(?=    \S)", text.rstrip()):
        name, _, said = one.strip().partition(": ")
        if said:
            yield name, _joined(said)


def _joined(text: str) -> str:
    return " ".join(text.split())


def _linked(text: str, kind: type[Box]) -> str:
    """The text with links to the pages of other boxes that it names, and to what a signed stream is."""
    for word, other in own_boxes().items():
        if other is not kind:
            text = text.replace(f"`{title(other)}`", f"[{title(other)}]({word}.md)")
    return re.sub(r"signed stream\b", "[signed stream](../signed-streams.md)", text, count=1)


def main() -> None:
    """Write every page."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
        print(FOLDER / name)


if __name__ == "__main__":
    main()
