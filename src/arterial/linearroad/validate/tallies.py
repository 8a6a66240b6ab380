"""Tallies as bytes, to travel from a task to the driver."""

from __future__ import annotations

import json

import numpy as np

from arterial.linearroad.validate.verdict import Example, Latency, Tally


def tally_to(tally: Tally) -> bytes:
    """A tally as JSON; of the response times only those that occur."""
    occurring = np.flatnonzero(tally.latency.counts)
    return json.dumps(
        {
            "answer_type": tally.answer_type,
            "counts": tally.counts,
            "outside": tally.outside,
            "examples": [vars(example) for example in tally.examples],
            "milliseconds": occurring.tolist(),
            "numbers": tally.latency.counts[occurring].tolist(),
            "greatest": tally.latency.greatest,
            "minutes": list(tally.latency.minutes.items()),
        }
    ).encode()


def tally_from(payload: bytes) -> Tally:
    """A tally from its JSON."""
    told = json.loads(payload)
    latency = Latency(greatest=told["greatest"], minutes={int(minute): most for minute, most in told["minutes"]})
    latency.counts[told["milliseconds"]] = told["numbers"]
    examples = [Example(**example) for example in told["examples"]]
    return Tally(told["answer_type"], told["counts"], examples, latency, told["outside"])
