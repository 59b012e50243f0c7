from __future__ import annotations

import io
import json

import pytest
from syrupy.assertion import SnapshotAssertion

from gradledger.cli import main
from gradledger.why import ENTRIES

Captured = pytest.CaptureFixture[str]
MESSAGE = b"RuntimeError: step() has already been called since the last update()."


def test_an_explanation_reads_as_it_did(capsys: Captured, snapshot: SnapshotAssertion) -> None:
    assert main(["why", "loss", "oscillates"]) == 0
    assert capsys.readouterr().out == snapshot


def test_a_traceback_is_read_from_the_input(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Traceback …\nRuntimeError: unscale_() has already been called on this optimizer since "
    monkeypatch.setattr("sys.stdin", io.StringIO("x" * 2_000_000 + f"\n{text}the last update()."))
    assert main(["why"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("unscale_() has already been called")
    assert "GL405" in out


@pytest.mark.parametrize(
    "data", [b"\xff\x00\xfe" * 1000 + MESSAGE, MESSAGE.decode().encode("utf-16")]
)
def test_input_that_is_no_utf_8_is_read_all_the_same(
    data: bytes, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="strict")
    monkeypatch.setattr("sys.stdin", strict)
    assert main(["why"]) == 0
    assert capsys.readouterr().out.startswith("step() has already been called")


def test_without_words_and_input_it_lists_all(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["why"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == [entry.name for entry in ENTRIES]


def test_what_is_not_known_is_said_and_the_status_is_1(capsys: Captured) -> None:
    assert main(["why", "xyzzy"]) == 1
    assert capsys.readouterr().out.startswith("No known symptom or message fits this.")


def test_the_json_has_causes_rules_and_commands(capsys: Captured) -> None:
    assert main(["why", "--format", "json", "loss is NaN"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["entries"]
    assert entry["name"] == "loss-nan"
    assert entry["causes"][0]["rule"] == "GL402"
    assert entry["run"][0] == "gradledger check train.py"
