"""What the playground calls, in this Python: the browser has another one, and no packages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gradledger.rules import CATALOGUE
from website.directives import directives
from website.layout import PAGES
from website.playground import bundling, entry, packing, page
from website.playground.examples import examples, is_checked

FIRST, RIGHT, *_ = examples()


def _check(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(entry.check(text))
    return found


def _fixed(text: str) -> str:
    lines = text.splitlines(keepends=True)
    (edits,) = json.loads(entry.fixes(text)).values()
    for edit in reversed(edits):
        lines[edit["line"] - 1 : edit["end"] - 1] = [edit["text"]]
    return "".join(lines)


def test_the_first_example_has_one_fault_that_one_edit_cures() -> None:
    (finding,) = _check(FIRST.text)["findings"]
    assert finding["rule"] == "GL101"
    start, end = finding["span"]
    assert FIRST.text[start:end] == "optimizer.step()"
    assert _fixed(FIRST.text) == RIGHT.text
    assert not _check(RIGHT.text)["findings"]


def test_a_finding_counts_as_the_player_does() -> None:
    (told,) = _check(FIRST.text)["findings"]
    assert told["detail"] == "spends 8 deposits, 4 of them spent before"
    rows = [(row["when"], row["what"], row["line"]) for row in told["rows"]]
    assert rows == [
        ("iterations 1 to 3", "deposited", 16),
        ("iteration 4", "deposited", 16),
        ("", "spent", 18),
        ("iterations 5 to 7", "deposited", 16),
        ("iteration 8", "deposited", 16),
        ("", "spent", 18),
        ("", "cleared", None),
    ]
    assert told["detail"] in entry.plays(FIRST.text)


def test_places_are_counted_as_javascript_counts() -> None:
    text = FIRST.text.replace("import torch\n", "import torch  # \U0001d4a2\n", 1)
    (finding,) = _check(text)["findings"]
    start, end = finding["span"]
    code = text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")
    assert code == "optimizer.step()"


def test_what_is_no_python_is_said_with_its_line() -> None:
    found = _check(f"{FIRST.text}\nfor x in:\n")
    assert not found["findings"]
    assert [left["line"] for left in found["not_checked"]] == [20]
    assert json.loads(entry.plays("for x in:\n")) == []
    assert not _check("\ud800")["findings"]  # half of a character, as an editor may hold it


def test_the_archive_is_all_that_it_needs(tmp_path: Path) -> None:
    archive = tmp_path / "gradledger.zip"
    archive.write_bytes(packing.packed())
    program = tmp_path / "first.py"
    program.write_text(FIRST.text, encoding="utf-8")
    calls = (
        f"import sys, json; sys.path.insert(0, {str(archive)!r}); import playground as p; "
        f"t = open({str(program)!r}).read(); "
        "print(json.dumps([json.loads(f(t)) for f in (p.check, p.fixes, p.plays)]))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", calls], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    checked, fixes, plays = json.loads(done.stdout)
    assert [finding["rule"] for finding in checked["findings"]] == ["GL101"]
    assert len(fixes) == 1
    assert plays


def test_every_program_that_a_page_shows_or_plays_can_be_tried() -> None:
    names = [example.name for example in examples()]
    assert len(names) == len(set(names))
    shown = {
        what
        for path in PAGES.rglob("*.md")
        for kind, what in directives(path.read_text(encoding="utf-8"))
        if kind in {"program", "play"}
    }
    rules = {f"{rule.code}-{kind}" for rule in CATALOGUE for kind in ("bad", "good")}
    wanted = {name for rule in filter(is_checked, CATALOGUE) for name in rules if rule.code in name}
    assert shown | wanted <= set(names)


@pytest.mark.parametrize("code", ["GL201", "GL301", "GL501"])
def test_programs_of_rules_say_in_the_playground_what_they_say_elsewhere(code: str) -> None:
    texts = {example.name: example.text for example in examples()}
    assert code in {finding["rule"] for finding in _check(texts[f"{code}-bad"])["findings"]}
    assert not _check(texts[f"{code}-good"])["findings"]


def test_without_npm_there_is_no_playground_and_the_page_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    why = bundling.bundle(tmp_path / "playground")
    assert "node and npm missing" in why
    assert not (tmp_path / "playground").exists()
    text = page.page(why)
    assert "built without the playground: node and npm missing" in text
    assert "<script" not in text
