from __future__ import annotations

import ast
import json

import pytest
from syrupy.assertion import SnapshotAssertion

from gradledger.cli import main
from gradledger.rules import CATALOGUE, Rule, find, programs
from gradledger.rules.pages import page

every_rule = pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.code)


@pytest.mark.parametrize("code", ["GL101", "GL403"])
def test_an_explanation_reads_as_it_did(
    code: str, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert main(["rule", code]) == 0
    assert capsys.readouterr().out == snapshot


def test_an_explanation_looks_as_it_did_in_colour(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["rule", "GL101"]) == 0
    assert capsys.readouterr().out == snapshot


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("GL110", "GL101"),
        ("GL1O1", "GL101"),
        ("spent-gradent-reused", "GL101"),
        ("GL7777", "GL70"),
        ("0", "gradledger rules"),
        ("clip", "GL501"),
        ("", "gradledger rules"),
        ("bananas", "gradledger rules"),
    ],
)
def test_a_wrong_rule_gets_one_line_with_the_nearest_right_ones(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rule", word]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gradledger: ")
    assert err.count("\n") == 1
    assert meant in err


def test_a_wrong_rule_among_right_ones_comes_before_any_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rule", "GL101", "GL110"]) == 2
    assert capsys.readouterr().out == ""


def test_a_rule_that_is_asked_for_twice_is_explained_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rule", "GL102", "GL1", "GL201"]) == 0
    out = capsys.readouterr().out.splitlines()
    titles = [line for line in out if line.startswith("GL")]
    assert [title.split()[0] for title in titles] == ["GL102", "GL101", "GL201"]


@every_rule
def test_an_explanation_has_every_text_of_the_rule_and_both_marks(
    rule: Rule, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rule", rule.code]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for text in (rule.name, rule.severity.value, rule.explains, rule.why, rule.symptom, rule.fix):
        assert " ".join(text.split())[1:] in said
    for cause in rule.yields_to:
        assert cause in said
    assert ("It ends the program" in said) == rule.stops


@every_rule
def test_into_a_pipe_no_line_of_code_is_wrapped_cut_or_coloured(
    rule: Rule, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    main(["rule", rule.code])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    for program in (programs.bad(rule), programs.good(rule)):
        for number in program.frame():
            assert f" {number} | {program.lines[number - 1]}".rstrip() in out


def test_markdown_is_the_page_of_the_docs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "GL101", "--format", "markdown"]) == 0
    assert capsys.readouterr().out == page(find("GL101"))


def test_json_has_the_programs_and_where_they_are_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rule", "GL101", "GL301", "--format", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["rules"]
    assert (first["code"], second["code"]) == ("GL101", "GL301")
    [mark] = first["bad"]["marks"]
    assert "optimizer.step()" in first["bad"]["source"].splitlines()[mark["line"] - 1]
    assert mark["text"] in first["bad"]["source"]
    assert first["seen_by"] == {"check": True, "run": True}


@pytest.mark.parametrize("kind", ["bad", "good"])
def test_a_whole_program_can_be_had_as_it_is(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "GL101", "--program", kind]) == 0
    source = capsys.readouterr().out
    ast.parse(source)
    assert source == (programs.FOLDER / f"gl101_{kind}.py").read_text(encoding="utf-8")
