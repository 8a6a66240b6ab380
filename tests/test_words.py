"""The words: those that the code uses as names are in the glossary, and no text has a phrase that readers stumble over.

The glossary's rule. In the rooms whose words are used all over the project (`ROOMS`), the leading word of every module
and folder name (`slot` of `slot_state.py`), and in `engine` and `connectors` every word of a public class name (`Slot`
and `State` of `SlotState`), is in the first column of docs/glossary.md. Singular and plural count as one. Words that
mean here what they mean to every programmer are in `EVERYDAY`: a new name is either such a word or needs a line in the
glossary.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from arterial.cli.main import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "arterial"

ROOMS = ("engine", "connectors", "storage", "network", "optimize")
EVERYDAY = re.findall(
    r"\w+",
    """application ahead begin bound chain clean compile cost crossing csv daemon damage decide drawn drop
    dropped error failed failures file find finished folder format gateway hash hashing hdfs http in inprocess
    insert java json later life local lock lower made memory names nulls optimize over packed packing parser
    partitions place postgres preloaded private process processor python read reader reading ready reorder rules
    s3 serial server session settings share show spark sqlite start started storage table texts tree troubles
    vectorised""",
)

BANNED = re.compile(
    r"\b((is|are|was|were|be|been) told|mend(s|ed|ing)?|anew|of anyone|no wish|go(es)? along|(is|are) dear|dearer|"
    r"whose word|asked was|no dice|amiss|unless told)\b",
    re.IGNORECASE,
)


@pytest.mark.thorough
def test_names_in_the_code_are_in_the_glossary() -> None:
    known = _glossary() | {_singular(word) for word in EVERYDAY}
    missing = {name: word for word, name in _named() if _singular(word) not in known}
    assert not missing, f"add to docs/glossary.md, or use a word that is there: {missing}"


def test_every_word_has_one_line() -> None:
    words = _glossary_words()
    assert not sorted({word for word in words if words.count(word) > 1})


@pytest.mark.parametrize("path", sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]), ids=lambda p: p.name)
def test_documents_are_in_plain_english(path: Path) -> None:
    found = [f"{path.name}:{n}: {m[0]}" for n, line in _lines(path.read_text()) for m in BANNED.finditer(line)]
    assert not found


def test_help_texts_are_in_plain_english() -> None:
    def texts(command: object, name: str) -> Iterator[tuple[str, str]]:
        yield name, getattr(command, "help", None) or ""
        for option in getattr(command, "params", []):
            yield f"{name} {option.name}", getattr(option, "help", None) or ""
        for word, inner in getattr(command, "commands", {}).items():
            yield from texts(inner, f"{name} {word}")

    assert isinstance(app, typer.Typer)
    found = [(where, m[0]) for where, text in texts(get_command(app), "arterial") for m in BANNED.finditer(text)]
    assert not found


@pytest.mark.thorough
def test_messages_and_docstrings_are_in_plain_english() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        # Most files have no such phrase, even with their strings joined across lines: only the others are parsed.
        if not BANNED.search(re.sub(r"\s+", " ", re.sub(r'"\s*[rf]*"', "", text))):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found += [f"{path.relative_to(ROOT)}:{node.lineno}: {m[0]}" for m in BANNED.finditer(node.value)]
    assert not found, "\n".join(found)


def _named() -> Iterator[tuple[str, str]]:
    """The words that are used as names, each with the name."""
    for room in ROOMS:
        for path in (SOURCE / room).rglob("*.py"):
            name = path.parent.name if path.stem == "__init__" else path.stem
            yield name.partition("_")[0], name
            if room in ("engine", "connectors"):
                for node in ast.parse(path.read_text()).body:
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        yield from ((word.lower(), node.name) for word in re.findall("[A-Z][a-z]+", node.name))


def _glossary() -> set[str]:
    """The words of the glossary; of a phrase such as "shared memory" its single words too."""
    return {_singular(word.lower()) for phrase in _glossary_words() for word in [phrase, *re.split("[ -]", phrase)]}


def _glossary_words() -> list[str]:
    text = (ROOT / "docs" / "glossary.md").read_text()
    return [phrase for phrase in re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE) if phrase not in ("word", "---")]


def _singular(word: str) -> str:
    return word if word == "statistics" else word.removesuffix("s")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.splitlines(), start=1))
