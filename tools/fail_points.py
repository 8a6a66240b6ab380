"""Lists the fail points: `python -m tools.fail_points`. They are read from the code, so that none is forgotten."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "arterial"


def fail_points() -> dict[str, str]:
    """The name of every call of `fail_point`, and the file in which it is."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if "fail_point(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fail_point":
                (name,) = node.args
                assert isinstance(name, ast.Constant), f"{path}: a fail point is named by a text"
                assert isinstance(name.value, str), f"{path}: a fail point is named by a text"
                assert name.value not in found, f"{name.value}: a name is used once"
                found[name.value] = str(path.relative_to(SOURCE))
    return dict(sorted(found.items()))


if __name__ == "__main__":
    for point, file in fail_points().items():
        print(f"| `{point}` | `{file}` |")
