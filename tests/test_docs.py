"""The documents: every path, module and name of the code that they mention exists, and the pages link to each other."""

from __future__ import annotations

import ast
import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import arterial.boxes
import arterial.moving.boxes.fences
import arterial.moving.boxes.gpac
import arterial.moving.boxes.moving_queries  # noqa: F401  (defining a box registers it)
from arterial.network.box import Box

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "arterial"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])

ROOMS = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)

# A path inside the repository or inside the package: tests/x.py, src/arterial/x/, engine/run/run.py, `level.py`.
PATH = re.compile(r"(?<![\w./-])(?:[\w-]+/)+[\w-]*(?:\.(?:py|md|svg|toml))?(?![\w/])|(?<=`)[\w-]+\.py(?=`)")
ROOTS = ("src", "tests", "docs", "examples", "benchmarks")
# A dotted name of the package: arterial.x.y, with what stands in it: arterial.x.y.Name.
DOTTED = re.compile(r"\barterial(?:\.\w+)+")
# Files that the documents tell the reader to make.
YOURS = (
    "speeding.py",
    "sensors.py",
    "fleet.py",
    "clicks.py",
    "system.py",
    "file.py",
    "file.md",
    "hook.py",
    "rooms.py",
    "fill.py",
    "watch.py",
    "ask.py",
    "more.py",
    "on_cluster.py",
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_exist(page: Path) -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir()} - {"__pycache__"}
    missing = []
    for path in PATH.findall(_without_links(page.read_text())):
        first = path.partition("/")[0]
        if "NAME" in path or "sample" in path or path in YOURS or path == first + "/":
            continue
        if "/" not in path:
            found = any(SOURCE.rglob(path)) or any((ROOT / "tests").rglob(path))
        elif first in ROOTS:
            found = (ROOT / path).exists()
        elif first == "arterial" or first in rooms:
            found = (SOURCE / path.removeprefix("arterial/")).exists()
        else:
            continue
        if not found:
            missing.append(path)
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_and_names_exist(page: Path) -> None:
    assert not [name for name in set(DOTTED.findall(page.read_text())) if not _exists(name)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]


def test_every_page_is_linked_from_the_index() -> None:
    linked = set(re.findall(r"\(([^)#]+\.md)", (ROOT / "docs" / "index.md").read_text()))
    folders = ("boxes", "decisions")
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if page.partition("/")[0] not in folders} - {"index.md"} == {
        page for page in linked if page.partition("/")[0] not in folders
    }


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"- (?:[\w ]+: )?([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    generated = {f"boxes/{kind}.md" for kind in Box.kinds}
    assert sorted(listed) == sorted(set(pages) - generated)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(SOURCE)))
def test_a_room_says_where_to_begin_reading(room: Path) -> None:
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    text = " ".join(text.split())
    begin = re.search(r"Begin(?: reading)? with(?: the room)? `([\w.]+)`|`([\w.]+)` [\w ]*is where to begin", text)
    assert begin is not None, "expected 'Begin with `FILE`'"
    first = (begin[1] or begin[2]).removesuffix(".py").replace(".", "/")
    assert (room / first).is_dir() or (room / f"{first}.py").is_file()


def test_a_room_has_about_a_dozen_files() -> None:
    assert {str(room.relative_to(SOURCE)): count for room in ROOMS if (count := len([*room.glob("*.py")])) > 15} == {}


def _without_links(text: str) -> str:
    """Web addresses and links between pages are not paths of the code."""
    return re.sub(r"\]\([^)]*\)|https?://\S+", "", text)


def _exists(name: str) -> bool:
    parts = name.split(".")
    if parts[-1] in ("py", "md"):
        return True
    module = parts[0]
    for index, part in enumerate(parts[1:], start=1):
        try:
            inner = find_spec(f"{module}.{part}")
        except ModuleNotFoundError:
            inner = None
        if inner is None:
            thing: object = importlib.import_module(module)
            for attribute in parts[index:]:
                if not hasattr(thing, attribute):
                    return False
                thing = getattr(thing, attribute)
            return True
        module = f"{module}.{part}"
    return True
