from __future__ import annotations

import json

import pytest
from syrupy.assertion import SnapshotAssertion

from gradledger.cli import main
from gradledger.ledger import Law
from gradledger.rules import CATALOGUE


def test_the_list_reads_as_it_did(
    capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert main(["rules"]) == 0
    assert capsys.readouterr().out == snapshot


def test_every_rule_is_in_the_list_once_and_below_its_law(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["rules"])
    law, seen = 0, []
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("Law "):
            law = int(line[4])
        elif line.startswith("  GL"):
            code, name, severity, *_ = line.split()
            seen.append((law, code, name, severity))
    assert seen == [(r.law.number, r.code, r.name, r.severity.value) for r in CATALOGUE]


def test_the_json_has_every_law_and_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["version"] == 1
    assert [law["number"] for law in said["laws"]] == [law.number for law in Law]
    assert [rule["code"] for rule in said["rules"]] == [rule.code for rule in CATALOGUE]
    assert all(rule["says"] and rule["fix"] for rule in said["rules"])
