from __future__ import annotations

import json
import marshal

from gradledger.ledger import Evidence, Finding, Place
from gradledger.ledger.findings import WitnessStep
from gradledger.static.result import IRRELEVANT, Checked, Result, Unknown
from gradledger.static.runner.rows import result, row
from gradledger.static.source.files import Trouble

FULL = Result(
    Checked(
        (
            Finding(
                "GL101",
                Place("a.py", 3, 4, via=Place("b.py", 5, 6)),
                "wörds \udcff",
                "possible",
                (Evidence("deposited", Place("c.py", 1), "note"), Evidence("cleared", None, "no")),
                frozenset({"x", "y"}),
                3,
                witness=(
                    WitnessStep("spent", Place("a.py", 3, 4, via=Place("b.py", 5, 6)), "x 2"),
                ),
                assumptions=("only with `wörds` on",),
            ),
        ),
        (Unknown("a.py", 1, "f", "why"),),
        7,
    ),
    (Trouble("a.py", 2, "words"),),
    True,
)


def test_what_comes_back_is_what_went_in() -> None:
    for one in (FULL, Result(), IRRELEVANT):
        assert result(json.loads(json.dumps(row(one)))) == one
        assert result(marshal.loads(marshal.dumps(row(one)))) == one


def test_nothing_of_a_finding_is_left_out() -> None:
    # A field that is added has to be added to the rows, and here.
    finding = FULL.checked.findings[0]
    plain = Finding("", Place("", 0), "", "certain")
    for name in set(Finding.fields) - {"recurring"}:  # which no source tells
        assert getattr(finding, name) != getattr(plain, name)
    for name in Place.fields:
        assert getattr(finding.at, name) != getattr(plain.at, name)
    assert Evidence.fields == ("what", "at", "note")
    assert WitnessStep.fields == ("what", "at", "when")
