from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from gradledger.ledger import Evidence, Finding, Place
from gradledger.ledger.verdict import Verdict
from tests.report.rendered import rendered
from tests.report.stories import accumulation_gone_wrong, all_is_well, several, wasted_work


def test_the_commands_read_as_they_did(snapshot: SnapshotAssertion) -> None:
    assert rendered(several(accumulation_gone_wrong(), wasted_work()), "github") == snapshot


def test_without_findings_there_is_no_command() -> None:
    assert rendered(all_is_well(), "github") == ""


def test_what_ends_a_property_or_a_command_is_escaped() -> None:
    place = Place("50%,a:b\n::x.py", 3)
    finding = Finding("GL101", place, "50% of\r\n::error::it", "observed")
    (said,) = rendered(Verdict("x.py", (finding,)), "github").splitlines()
    properties, message = said.removeprefix("::error ").split("::", 1)
    file = properties.split(",")[0]
    assert file == "file=50%25%2Ca%3Ab␊%3A%3Ax.py"
    assert "50%25 of␍␊::error::it" in message
    assert message.count("%0A") == 2


@pytest.mark.parametrize(
    ("workspace", "file"), [("", "train.py"), ("repo", "sub/train.py"), ("elsewhere", "train.py")]
)
def test_paths_are_counted_from_the_top_of_the_checkout(
    workspace: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "repo" / "sub"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    if workspace:
        monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / workspace))
    for path in ("train.py", str(folder / "train.py")):
        finding = Finding("GL101", Place(path, 3), "spends", "observed")
        assert f"file={file},line=3," in rendered(Verdict("t", (finding,)), "github")


def test_code_from_no_file_has_no_place_on_github() -> None:
    finding = Finding("GL101", Place("<stdin>", 3), "spends", "observed")
    said = rendered(Verdict("t", (finding,)), "github")
    assert said.startswith("::error title=GL101 spent-gradient-reused::")
    assert "<stdin>:3" in said


def test_a_finding_that_is_not_certain_says_so_on_github() -> None:
    evidence = (Evidence("cleared", None, "never"),)
    finding = Finding("GL203", Place("t.py", 3), "leaves", "possible", evidence)
    assert "%0APossible: not on all paths" in rendered(Verdict("t", (finding,)), "github")
    finding = Finding("GL203", Place("t.py", 3), "leaves", "likely", evidence)
    assert "%0ALikely: not on all paths" in rendered(Verdict("t", (finding,)), "github")
