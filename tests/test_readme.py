"""What the README shows is what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from gradledger.cli import main
from gradledger.rules import CATALOGUE

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_output_it_shows_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = blocks("console")[0].splitlines()
    command = shown[0].removeprefix("$ gradledger ").split()
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert main(command) == 0
    assert "\n".join(shown[1:]) in capsys.readouterr().out


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.split("\n")[0])
def test_the_python_it_shows_prints_what_its_last_comment_says(code: str) -> None:
    expected = code.rstrip().splitlines()[-1].removeprefix("# ")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == f"{expected}\n"


def test_it_counts_the_rules_right() -> None:
    assert f"{len(CATALOGUE)} ways to break the nine laws" in README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    missing = [to for to in links if "://" not in to and not (page.parent / to).exists()]
    assert missing == []


def test_make_targets_that_the_pages_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^(\w+):.*##", makefile, re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"(?:`|\$ )make (\w+)", page.read_text("utf-8"))) <= targets
