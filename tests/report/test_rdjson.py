from __future__ import annotations

import json
from typing import Any

import pytest

from gradledger.ledger import Finding, Place
from gradledger.ledger.verdict import Verdict
from gradledger.report import rdjson, sarif
from gradledger.report.replacements import Replacement, replacements
from gradledger.rules import homepage
from tests.report.rendered import rendered
from tests.report.stories import all_is_well, several, wasted_work

TEXT = 'print("é"); optimizer.step()\n'
AT = Place("train.py", 1, TEXT.encode().index(b"optimizer"))
FINDING = Finding("GL101", AT, "spends 2 deposits", "certain")
VERDICT = Verdict("train.py", (FINDING,), sources={"train.py": TEXT})
CURES = {("GL101", AT): (Replacement(1, 1, "optimizer.zero_grad()\n"),)}


def test_columns_are_counted_in_bytes() -> None:
    (said,) = rdjson.document(VERDICT)["diagnostics"]
    assert said["location"] == {
        "path": "train.py",
        "range": {"start": {"line": 1, "column": 14}, "end": {"line": 1, "column": 30}},
    }
    assert said["code"] == {"value": "GL101"}
    assert said["severity"] == "ERROR"
    assert "suggestions" not in said


def test_a_certain_cure_is_a_suggestion_and_a_fix() -> None:
    (said,) = rdjson.document(VERDICT, CURES)["diagnostics"]
    place = {"line": 1, "column": 1}
    text = "optimizer.zero_grad()\n"
    assert said["suggestions"] == [{"range": {"start": place, "end": place}, "text": text}]
    (result,) = sarif.document(VERDICT, CURES)["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"] == {"text": text}
    assert change["artifactLocation"]["uri"] == "train.py"


def test_a_notebook_has_no_lines_that_a_host_could_show() -> None:
    finding = Finding("GL203", Place("a.ipynb:cell 3", 2), "loses 1 deposit", "certain")
    (said,) = rdjson.document(Verdict("a.ipynb", (finding,)))["diagnostics"]
    assert said["location"] == {"path": "a.ipynb"}
    assert "Cell 3, line 2: loses 1 deposit." in said["message"]


def test_all_that_is_found_is_told_and_nothing_else() -> None:
    verdict = several(wasted_work())
    said = json.loads(rendered(verdict, "rdjson"))
    assert len(said["diagnostics"]) >= len(verdict.findings) > 0
    assert json.loads(rendered(all_is_well(), "rdjson"))["diagnostics"] == []


def test_a_rule_has_an_address_where_the_package_declares_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Declared:
        def get_all(self, name: str) -> list[str]:
            assert name == "Project-URL"
            return ["Source, https://code.example", "Documentation, https://docs.example/"]

    def metadata(name: str) -> Any:
        return Declared()

    monkeypatch.setattr(homepage, "metadata", metadata)
    (said,) = rdjson.document(VERDICT)["diagnostics"]
    assert said["code"]["url"] == "https://docs.example/rules/GL101.md"
    (rule,) = sarif.document(VERDICT)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == "https://docs.example/rules/GL101.md"


def test_replacements_are_of_whole_lines() -> None:
    found = list(replacements("a\r\nb\r\nc\r\n", "a\r\nx\r\nc\r\nd\r\n"))
    assert found == [Replacement(2, 3, "x\r\n"), Replacement(4, 4, "d\r\n")]
