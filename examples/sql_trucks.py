"""A query in SQL as a network: the trucks within a kilometre of an ambulance, and how many of them each owner has.

python examples/sql_trucks.py                   # runs it over a few reports
arterial graph examples/sql_trucks.py:net       # draws it
arterial explain examples/sql_trucks.py:net     # shows its superboxes
"""

from __future__ import annotations

from arterial.sql import Catalog, StreamEntry, TableEntry, compile_sql
from arterial.testing import run

CATALOG = Catalog(
    {
        "MovingObjects": StreamEntry.of({"t": int, "ObjectID": int, "x": float, "y": float, "type": str}),
        "Fleet": TableEntry.of({"ObjectID": int, "owner": str}),
    }
)
QUERY = """
SELECT   F.owner, count(*) AS trucks
FROM     MovingObjects M, Fleet F
WHERE    M.ObjectID = F.ObjectID AND M.type = "truck"
GPAC-IN  ('M', 7, 2000, 2000)
GROUP BY F.owner
"""

net = compile_sql(QUERY, CATALOG, name="trucks_near_the_ambulance", timeout=60)

REPORTS = [
    (0, 7, 0, 0, "ambulance"),
    (0, 1, 500, 0, "truck"),
    (0, 2, 900, 900, "truck"),
    (0, 3, 5000, 0, "truck"),
    (10, 7, 1500, 0, "ambulance"),
    (20, 3, 2400, 0, "truck"),
    (30, 1, 9000, 0, "truck"),
]
FLEET = [(1, "ann"), (2, "ann"), (3, "bob")]


def main() -> None:
    """Tell every change of the answer."""
    arrivals = {
        "MovingObjects": [dict(zip(("t", "ObjectID", "x", "y", "type"), row, strict=True)) for row in REPORTS],
        "Fleet": [{"ObjectID": identity, "owner": owner, "loaded": 0} for identity, owner in FLEET],
    }
    for change in run(net, arrivals)["answer"]:
        if change["t"] <= REPORTS[-1][0]:
            sign = "+" if change["sign"] > 0 else "-"
            print(f"{change['t']:3} s  {sign} {change['owner']} has {change['trucks']} near")


if __name__ == "__main__":
    main()
