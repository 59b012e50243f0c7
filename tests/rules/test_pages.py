from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradledger.ledger import Law
from gradledger.rules import CATALOGUE, Rule
from gradledger.rules.pages import main, page, pages

every_rule = pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.code)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """docs/rules, as it was just written."""
    path = tmp_path / "docs" / "rules"
    assert main([str(path)]) == 0
    return path


def test_there_is_a_page_for_each_rule_and_an_index(folder: Path) -> None:
    expected = {"README.md", *(f"{rule.code}.md" for rule in CATALOGUE)}
    assert {path.name for path in folder.iterdir()} == expected


def test_what_was_just_written_is_not_stale(folder: Path) -> None:
    assert main(["--check", str(folder)]) == 0


def test_writing_twice_writes_the_same_bytes(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    main([str(folder)])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_edited_page_is_stale(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "GL101.md"
    path.write_text(path.read_text(encoding="utf-8") + "By hand.\n", encoding="utf-8")
    assert main(["--check", str(folder)]) == 1
    out, err = capsys.readouterr()
    assert "\n-By hand." in out
    assert "make docs" in err


def test_a_missing_page_is_stale(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "GL101.md").unlink()
    assert main(["--check", str(folder)]) == 1
    assert "+# GL101: spent-gradient-reused" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["GL999.md", "notes.txt"])
def test_a_file_too_many_is_stale(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_text("What is this?\n", encoding="utf-8")
    assert main(["--check", str(folder)]) == 1
    out = capsys.readouterr().out
    assert name in out
    assert "-What is this?" in out


def test_an_empty_file_too_many_is_stale(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "GL999.md").touch()
    assert main(["--check", str(folder)]) == 1
    assert "GL999.md" in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_stale(tmp_path: Path) -> None:
    assert main(["--check", str(tmp_path / "nowhere")]) == 1


def test_checking_writes_nothing(tmp_path: Path) -> None:
    main(["--check", str(tmp_path / "nowhere")])
    assert list(tmp_path.iterdir()) == []


def test_writing_removes_the_page_of_a_rule_that_is_gone_and_nothing_else(folder: Path) -> None:
    (folder / "GL999.md").write_text("Gone.\n", encoding="utf-8")
    (folder / "thesis.md").write_text("Years of work.\n", encoding="utf-8")
    main([str(folder)])
    assert not (folder / "GL999.md").exists()
    assert (folder / "thesis.md").exists()


@every_rule
def test_a_page_has_all_its_parts_in_order(rule: Rule) -> None:
    headings = re.findall(r"^#+ (.+)$", _without_code(page(rule)), re.MULTILINE)
    assert headings[0] == f"{rule.code}: {rule.name}"
    extra = ["It ends the program"] * rule.stops + ["What it yields to"] * bool(rule.yields_to)
    assert headings[1:] == [
        *("What it says", "What breaks it", "Why it matters", "What you see"),
        *extra,
        *("Example", "Use instead", "The difference", "How to fix"),
    ]


@every_rule
def test_the_difference_on_a_page_has_no_marks_in_it(rule: Rule) -> None:
    difference = page(rule).split("```diff\n")[1].split("\n```")[0]
    assert re.search(r"# (GL\d{3}|fix):", difference) is None
    assert re.search(r"^[-+](?![-+])", difference, re.MULTILINE)


def test_every_link_leads_somewhere() -> None:
    folder, written = Path(__file__).parents[2] / "docs" / "rules", pages()
    headings = re.findall(r"^## (.+)$", written["README.md"], re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for text in written.values():
        for target in re.findall(r"\]\(([^)]+)\)", _without_code(text)):
            name, _, anchor = target.partition("#")
            assert name in written or (folder / name).resolve().exists()
            assert not anchor or anchor in anchors


def test_the_index_has_every_law_with_its_text() -> None:
    text = pages()["README.md"]
    assert all(law.text in text for law in Law)


def _without_code(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)
