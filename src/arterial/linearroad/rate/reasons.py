"""Why a trial of a rating failed, in a few lines."""

from __future__ import annotations

from typing import Any

NO_LINES, NOT_READ = "no lines in it.", "not read as answers"
EXAMPLES = 2
"""So many answers of each type are shown."""
_KINDS = ("missing", "extra", "wrong", "late")


def reasons(outcome: dict[str, Any]) -> list[str]:
    """What the trial failed by: counts by type with the first examples, lines that are no answers, or a breakdown.

    Of a trial that passed only that the system had to be stopped, if so.

    >>> reasons({"passed": False, "broke_down": "exit code 1"})
    ['broke down: exit code 1']
    """
    found = [outcome["stopped"]] if "stopped" in outcome else []
    if outcome["passed"]:
        return found
    if "broke_down" in outcome:
        return [f"broke down: {outcome['broke_down']}"]
    verdict = outcome.get("verdict", {})
    for judged in verdict.get("types", {}).values():
        counts = [f"{judged[kind]:,} {kind}" for kind in _KINDS if judged[kind]]
        if counts:
            found.append(f"{judged['title']}: {', '.join(counts)} of {judged['expected']:,}")
            found += [f"  {one['kind']}, second {one['time']}: {one['rule']}" for one in judged["examples"][:EXAMPLES]]
    for reason, count in verdict.get("dirty_output_lines", {}).items():
        found.append(f"{count:,} line(s) are no answers: {reason}")
    found += [note for note in verdict.get("notes", ()) if note.endswith(NO_LINES) or NOT_READ in note]
    return found
