from __future__ import annotations

import pytest

from gradledger.ledger.places import Place
from gradledger.report.regions import Region, Regions


@pytest.mark.parametrize(
    ("text", "place", "region"),
    [
        ("a.step()\n", (1, 0), (1, 0, 1, 8)),
        ("if x: a.step()  # why\n", (1, 6), (1, 6, 1, 14)),
        ("a.step(\n  b,\n)\n", (1, 0), (1, 0, 3, 1)),
        ('"é"; a.step()\n', (1, 6), (1, 5, 1, 13)),
        ("for x in y:  # each\n  pass\n", (1, 0), (1, 0, 1, 11)),
        ("if x:\n    a.step()\n", (2, 0), (2, 4, 2, 12)),
        ("def (:\n    a.step()  # why\n", (2, 4), (2, 4, 2, 12)),
        ("\n", (1, 0), (1, 0, 1, 0)),
    ],
    ids=["call", "behind", "long", "bytes", "loop", "no column", "no Python", "empty"],
)
def test_a_region_is_the_code_at_a_place(
    text: str, place: tuple[int, int], region: tuple[int, int, int, int]
) -> None:
    assert Regions({"a.py": text}).of(Place("a.py", *place)) == Region(*region)


def test_without_a_text_there_is_no_region() -> None:
    regions = Regions({"a.py": "x\n"})
    assert regions.of(Place("b.py", 1)) is None
    assert regions.of(Place("a.py", 9)) is None
