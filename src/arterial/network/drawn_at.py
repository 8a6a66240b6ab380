"""Errors of drawing name the line of the user's own file in which the box was drawn."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from arterial.errors import NetworkError

_OURS = str(Path(__file__).parents[1])
_COMMANDS = str(Path(_OURS) / "cli")
_MARK = " (drawn at "
_Drawn = TypeVar("_Drawn", bound=type)


def names_the_line(drawn: _Drawn) -> _Drawn:
    """Let the public methods and properties of a class say in a `NetworkError` where they were called."""
    for name, member in list(vars(drawn).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, property) and member.fget is not None:
            setattr(drawn, name, property(_located(member.fget)))
        elif isinstance(member, classmethod):
            setattr(drawn, name, classmethod(_located(member.__func__)))
        elif callable(member):
            setattr(drawn, name, _located(member))
    return drawn


def _located(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*values: Any, **named: Any) -> Any:
        try:
            return method(*values, **named)
        except NetworkError as mistake:
            if _MARK not in str(mistake) and (where := drawn_at()):
                mistake.args = (f"{mistake}{where}",)
            raise

    return call


def drawn_at() -> str:
    """What an error of drawing ends with: " (drawn at file.py:12)"."""
    return f"{_MARK}{line})" if (line := _user_line()) else ""


def _user_line() -> str:
    """The innermost line outside of this package: "file.py:12"; empty if a command of ours drew the network."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_OURS, contextlib.__file__, "<string>")):
        if frame.f_code.co_filename.startswith(_COMMANDS):
            return ""
        frame = frame.f_back
    if frame is None:
        return ""
    file = Path(frame.f_code.co_filename)
    here = Path.cwd()
    return f"{file.relative_to(here) if file.is_relative_to(here) else file}:{frame.f_lineno}"
