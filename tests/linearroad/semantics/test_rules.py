"""Every field of a profile belongs to one rule."""

from __future__ import annotations

from dataclasses import fields

from arterial.linearroad.semantics.profiles import SPEC, THESIS2003, WALMART, Profile
from arterial.linearroad.semantics.rules import FIELDS_OF_RULE, differing_rules, is_sound, with_rules


def test_every_field_belongs_to_one_rule() -> None:
    named = [name for names in FIELDS_OF_RULE.values() for name in names]
    assert sorted(named) == sorted({field.name for field in fields(Profile)} - {"name", "about"})


def test_all_differing_rules_make_the_other_profile() -> None:
    made = with_rules(SPEC, WALMART, differing_rules(SPEC, WALMART))
    assert {**vars(made), "name": "", "about": ""} == {**vars(WALMART), "name": "", "about": ""}
    assert not differing_rules(SPEC, SPEC)


def test_alerts_at_detection_need_the_places_of_accidents() -> None:
    assert not is_sound(with_rules(THESIS2003, WALMART, ["10–12"]))
    assert is_sound(with_rules(THESIS2003, SPEC, ["10–12"]))
