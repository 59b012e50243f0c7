from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from syrupy.assertion import SnapshotAssertion

from gradledger.ledger import Finding, Place
from gradledger.ledger.verdict import Verdict
from gradledger.report.inspection import Inspection
from tests.report.inspections import much, nothing_found
from tests.report.rendered import rendered
from tests.report.stories import (
    accumulation_gone_wrong,
    all_is_well,
    nobody_clears,
    several,
    wasted_work,
)

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "findings.schema.json").read_text(encoding="utf-8")
)
STORIES: dict[str, Verdict | Inspection] = {
    "error": nobody_clears(),
    "several": several(accumulation_gone_wrong(), wasted_work()),
    "clean": all_is_well(),
    "nothing": Verdict("train.py"),
    "checked": much(),
    "checked and clean": nothing_found(),
}


def test_the_json_reads_as_it_did(snapshot: SnapshotAssertion) -> None:
    assert rendered(nobody_clears(), "json") == snapshot


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("story", STORIES)
def test_the_json_is_what_the_schema_says(story: str) -> None:
    Draft202012Validator(SCHEMA).validate(json.loads(rendered(STORIES[story], "json")))


@pytest.mark.parametrize("story", STORIES)
def test_the_schema_knows_every_key(story: str) -> None:
    said = json.loads(rendered(STORIES[story], "json"))
    known, checked = SCHEMA["$defs"], isinstance(STORIES[story], Inspection)
    of_check = {"not_checked", "suppressed"}
    assert said.keys() == SCHEMA["properties"].keys() - (set() if checked else of_check)
    place = known["place"]["properties"].keys()
    for kind in ("unknown", "not_checked", "suppressed"):
        for one in said.get(kind, []):
            assert one.keys() == known[kind]["properties"].keys() | place
    for finding in said["findings"]:
        assert finding.keys() == known["finding"]["properties"].keys()
        for evidence in finding["evidence"]:
            assert evidence.keys() == known["evidence"]["properties"].keys()
    assert said["stats"].keys() == set(known["check_stats" if checked else "stats"]["required"])


def test_the_schema_refuses_what_is_wrong() -> None:
    said: dict[str, Any] = json.loads(rendered(nobody_clears(), "json"))
    said["findings"][0]["severity"] = "dreadful"
    del said["stats"]["steps"]
    wrong = {error.json_path for error in Draft202012Validator(SCHEMA).iter_errors(said)}
    assert wrong == {"$.findings[0].severity", "$.stats"}


def test_the_json_of_a_check_reads_as_it_did(snapshot: SnapshotAssertion) -> None:
    assert rendered(much(), "json") == snapshot


def test_a_notebook_is_a_file_and_a_cell_to_programs() -> None:
    found = json.loads(rendered(much(), "json"))["findings"][-1]
    assert (found["path"], found["cell"], found["line"]) == ("notes/nb.ipynb", 3, 2)


def test_the_books_balance_where_nothing_but_an_info_is_found() -> None:
    for verdict, balanced in ((wasted_work(), True), (accumulation_gone_wrong(), False)):
        assert json.loads(rendered(verdict, "json"))["balanced"] is balanced


def test_counts_are_out_of_the_steps_that_break_the_rule_and_not_of_the_place_it_stands_at() -> (
    None
):
    found = json.loads(rendered(accumulation_gone_wrong(), "json"))["findings"][0]
    assert (found["rule"], found["count"], found["occurrences"]) == ("GL301", 4, 6)


def test_a_file_name_that_is_no_utf8_can_be_read_by_everybody() -> None:
    finding = Finding("GL101", Place("caf\udce9.py", 1), "spends", "observed")
    said = rendered(Verdict("caf\udce9.py", (finding,)), "json")
    assert json.loads(said)["findings"][0]["path"] == "caf?.py"
