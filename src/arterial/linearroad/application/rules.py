"""A profile as a box holds it: its name and what differs from the named profile, as plain data."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from arterial.linearroad.semantics.profiles import PROFILES, Profile

Rules = tuple[tuple[str, Any], ...]


def rules_of(profile: Profile) -> Rules:
    """What differs from the profile of the same name."""
    named = PROFILES[profile.name]
    names = (field.name for field in fields(profile))
    return tuple((name, getattr(profile, name)) for name in names if getattr(profile, name) != getattr(named, name))


def profile_by(name: str, rules: Rules) -> Profile:
    """The profile of a name, with the differences given."""
    return replace(PROFILES[name], **dict(rules)) if rules else PROFILES[name]
