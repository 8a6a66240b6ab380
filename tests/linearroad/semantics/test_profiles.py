"""Profiles: named data that travels, and clear errors."""

from __future__ import annotations

import pickle

import pytest

from arterial.linearroad.semantics.profiles import PROFILES, Profile, ProfileError, profile


@pytest.mark.parametrize("one", PROFILES.values(), ids=lambda p: p.name)
def test_travels_to_workers(one: Profile) -> None:
    assert pickle.loads(pickle.dumps(one)) == one


def test_response_limits() -> None:
    assert dict(profile("spec").response_limit) == {0: 5, 1: 5, 2: 5, 3: 10, 4: 30}
    assert dict(profile("thesis2003").response_limit) == {0: 15, 1: 15, 2: 60, 3: 90, 4: 120}


def test_unknown_profile() -> None:
    with pytest.raises(ProfileError, match="there are spec, walmart, thesis2003"):
        profile("2005")


def test_constants_belong_to_the_thesis() -> None:
    chosen = profile("thesis2003", basetoll=3, basecredit=7, ftmin=11)
    assert (chosen.base_toll, chosen.exit_credit, chosen.discount_from) == (3, 7, 11)
    with pytest.raises(ProfileError, match="options of 'thesis2003'"):
        profile("spec", ftmin=1)
    with pytest.raises(ProfileError, match="ftmin is an amount from 0"):
        profile("thesis2003", ftmin=-1)
