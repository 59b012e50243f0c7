from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from jsonschema import Draft4Validator, ValidationError
from syrupy.assertion import SnapshotAssertion

from gradledger.ledger import Finding, Place
from gradledger.ledger.verdict import Verdict
from gradledger.report.inspection import Inspection
from gradledger.rules import CATALOGUE
from tests.report.inspections import much
from tests.report.rendered import rendered
from tests.report.stories import (
    PLAIN,
    Script,
    accumulation_gone_wrong,
    all_is_well,
    nobody_clears,
    several,
    wasted_work,
)


def run_of(verdict: Verdict) -> dict[str, Any]:
    said = json.loads(rendered(verdict, "sarif"))
    assert said["version"] == "2.1.0"
    (run,) = said["runs"]
    assert isinstance(run, dict)
    return run


def at(path: str) -> dict[str, Any]:
    run = run_of(Verdict("t", (Finding("GL101", Place(path, 1), "spends", "observed"),)))
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert isinstance(artifact, dict)
    return artifact


def fingerprint(verdict: Verdict) -> str:
    (result,) = run_of(verdict)["results"]
    (print_,) = result["partialFingerprints"].values()
    return str(print_)


def test_the_sarif_reads_as_it_did(snapshot: SnapshotAssertion) -> None:
    said = rendered(several(accumulation_gone_wrong(), wasted_work()), "sarif")
    assert said.replace(version("gradledger"), "VERSION") == snapshot


def test_every_result_points_at_its_rule() -> None:
    findings = tuple(Finding(r.code, Place("t.py", 1), "x", "observed") for r in CATALOGUE)
    run = run_of(Verdict("t", findings))
    rules = run["tool"]["driver"]["rules"]
    assert len(rules) == len(CATALOGUE)
    for result in run["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["defaultConfiguration"]["level"] == result["level"]
    assert {result["level"] for result in run["results"]} == {"error", "warning", "note"}


def test_a_clean_run_has_no_results_and_says_so() -> None:
    assert run_of(all_is_well())["results"] == []


def test_evidence_becomes_related_locations_with_ids_of_their_own() -> None:
    (result,) = run_of(nobody_clears())["results"]
    related = result["relatedLocations"]
    assert [(r["id"], r["message"]["text"]) for r in related] == [(1, "deposited"), (2, "spent")]
    lines = [r["physicalLocation"]["region"]["startLine"] for r in related]
    assert lines == [9, 11]


def test_paths_in_the_checkout_are_relative_to_its_root(tmp_path: Path) -> None:
    for path in ("src/a b#ü.py", str(tmp_path / "src" / "a b#ü.py")):
        assert at(path) == {"uri": "src/a%20b%23%C3%BC.py", "uriBaseId": "%SRCROOT%"}


def test_paths_outside_are_absolute() -> None:
    assert at("/else where/t.py") == {"uri": "file:///else%20where/t.py"}


@pytest.mark.parametrize("path", ["<stdin>", "", "caf\udce9.py", "/caf\udce9.py", "C:x.py"])
def test_every_path_becomes_a_reference_that_can_be_read(path: str) -> None:
    uri = at(path)["uri"]
    assert uri.isascii()
    assert urlsplit(uri).scheme in ("", "file")
    assert unquote(uri, errors="surrogateescape").removeprefix("file://") == path


def test_a_fault_is_known_again_when_it_moves_down() -> None:
    moved = Script("# A new first line.\n" + PLAIN.text)
    assert fingerprint(nobody_clears(moved)) == fingerprint(nobody_clears())


def test_a_fault_is_another_when_its_code_its_file_or_its_rule_is() -> None:
    finding, text = nobody_clears().findings[0], "a.step()\nb.step()\n"
    found = {
        fingerprint(Verdict("t", (f,), sources={"t.py": text, "u.py": text}))
        for f in (
            Finding("GL101", Place("t.py", 1), finding.detail, "observed"),
            Finding("GL101", Place("t.py", 2), finding.detail, "observed"),
            Finding("GL101", Place("u.py", 1), finding.detail, "observed"),
            Finding("GL102", Place("t.py", 1), finding.detail, "observed"),
        )
    }
    assert len(found) == 4


def test_two_faults_on_lines_that_read_alike_are_two() -> None:
    findings = tuple(Finding("GL101", Place("t.py", n), "spends", "observed") for n in (1, 2))
    run = run_of(Verdict("t", findings, sources={"t.py": "opt.step()\nopt.step()\n"}))
    prints = {tuple(result["partialFingerprints"].values()) for result in run["results"]}
    assert len(prints) == 2


HOSTILE = Verdict(
    "strange names",
    (
        Finding(
            "GL101", Place("a b/\ud800<é>.ipynb#cell=3", 1), "\x00 spends </script>", "observed"
        ),
    ),
)

# Microsoft's package brings the schema of the standard; `make test` installs it.
OFFICIAL = (
    Path(__file__).parents[2]
    / "web/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"
)


@pytest.mark.skipif(
    not OFFICIAL.exists() and os.environ.get("GRADLEDGER_BROWSER") != "required",
    reason="the schema is not installed: run `npm ci` in web/",
)
@pytest.mark.parametrize(
    "verdict",
    [nobody_clears(), accumulation_gone_wrong(), all_is_well(), wasted_work(), HOSTILE, much()],
    ids=lambda verdict: verdict.subject,
)
def test_it_is_valid_by_the_standards_own_schema(verdict: Verdict | Inspection) -> None:
    schema = json.loads(OFFICIAL.read_text(encoding="utf-8"))
    Draft4Validator(schema).validate(json.loads(rendered(verdict, "sarif")))


def test_the_schema_is_one_that_can_refuse() -> None:
    if not OFFICIAL.exists():
        pytest.skip("the schema is not installed: run `npm ci` in web/")
    said = json.loads(rendered(nobody_clears(), "sarif"))
    said["runs"][0]["results"][0]["level"] = "dreadful"
    schema = json.loads(OFFICIAL.read_text(encoding="utf-8"))
    with pytest.raises(ValidationError):
        Draft4Validator(schema).validate(said)
