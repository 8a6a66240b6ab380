"""What a run says of itself, and what is decided by it: plain data, written and read by many.

The engine makes `StepFigures` out of its tasks' reports and appends them to `steps.jsonl`; `status.json` has those of
the last window. Scheduler, shedder, optimizer, `arterial status` and `top`, metrics and studio read nothing else. What
they decide is a `Steering` record. Begin with `step`.
"""
