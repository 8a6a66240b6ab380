"""A query of your own on the skeleton of GPAC: which taxis are best for three friends to share, as traffic moves.

python examples/group_nearest.py
"""

from __future__ import annotations

from arterial.moving import GpacGroup, Interpreter, Report, Traffic, TrafficSettings, net

FRIENDS = [(-400.0, 0.0), (300.0, 250.0), (100.0, -350.0)]
FASTEST = 36.0


def main() -> None:
    """Follow the best three of 300 taxis for a minute."""
    traffic = Traffic(TrafficSettings(objects=300, kilometres=3.0, leaving=0.0))
    interpreter = Interpreter()
    interpreter.add("share", GpacGroup(FRIENDS, k=3, longest_step=FASTEST))
    for _ in range(60):
        positions = traffic.step()
        t = float(positions.t)
        reports = [
            Report(t, who, x, y)
            for who, x, y in zip(positions.id.tolist(), positions.x.tolist(), positions.y.tolist(), strict=True)
        ]
        for update in net(interpreter.take(t, reports)):
            print(f"{t:3.0f} s  {update.sign.value} taxi {update.object}")
    print("at the end:", ", ".join(f"taxi {taxi}" for taxi in sorted(interpreter.answers()["share"])))


if __name__ == "__main__":
    main()
