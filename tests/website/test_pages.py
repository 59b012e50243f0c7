"""What the pages show is real: programs are there, and outputs are those of the commands."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.tiers import slow_but
from tests.website.forked import is_plain, printed_by_a_fork
from website import outputs
from website.directives import directives, output, slug
from website.layout import OUTPUTS, PAGES, PROGRAMS
from website.markdown import adapted

QUICK = {"gradledger check first.py"}


def test_every_directive_has_what_it_shows() -> None:
    shown = set()
    for page in PAGES.rglob("*.md"):
        for kind, what in directives(page.read_text(encoding="utf-8")):
            if kind == "run":
                assert output(what), f"{page.name}: {what} prints nothing"
            else:
                assert (PROGRAMS / what).exists(), f"{page.name}: @{kind} {what}"
                shown.add(what)
    assert shown == {path.name for path in PROGRAMS.iterdir() if path.suffix == ".py"}


def test_no_output_is_kept_that_no_page_shows() -> None:
    wanted = {f"{slug(command)}.txt" for command in outputs.commands()}
    assert {path.name for path in OUTPUTS.iterdir()} == wanted


@pytest.mark.parametrize("command", slow_but(QUICK.__contains__, outputs.commands()))
def test_a_command_prints_what_its_page_shows(command: str) -> None:
    """Slow: they train, and commands and ranks load torch in real processes."""
    by = printed_by_a_fork if is_plain(command) else outputs.printed_by
    assert by(command) == output(command)


def test_programs_are_for_the_oldest_python_too() -> None:
    for path in PROGRAMS.glob("*.py"):
        ast.parse(
            path.read_text(encoding="utf-8"), feature_version=min(sys.version_info[:2], (3, 10))
        )


def test_a_list_behind_a_paragraph_gets_room_and_code_is_left_alone() -> None:
    text = "Some words:\n- one\n- two\n\n```text\nwords\n- no list\n```\n"
    assert adapted(text, path="docs/checker.md", found=lambda _: None) == (
        "Some words:\n\n- one\n- two\n\n```text\nwords\n- no list\n```\n"
    )


def test_links_to_the_repository_become_links_of_the_site() -> None:
    found: list[str] = []
    text = "[a](stepper.md#words) [`b`](../examples/gan.py) `[c](no-link.md)` [d](https://e.f/)\n"
    assert adapted(text, path="docs/checker.md", found=found.append) == (
        "[a](stepper.md#words) [`b`](../source/examples/gan.py.md) `[c](no-link.md)` "
        "[d](https://e.f/)\n"
    )
    assert found == ["docs/stepper.md", "examples/gan.py"]


def test_a_link_to_nowhere_stops_the_build() -> None:
    with pytest.raises(SystemExit, match=r"docs/checker\.md links to gone\.md"):
        adapted("[a](gone.md)\n", path="docs/checker.md", found=lambda _: None)
