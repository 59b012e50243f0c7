"""The magics, and what books and findings show, in an IPython of this process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from gradledger.report.notebook import View, html
from tests.integrations.cells import MAKE, TRAIN


class Shell:
    """An IPython that has run some cells."""

    def __init__(self, shell: Any) -> None:
        self.real = shell
        self.displayed: list[View] = []
        self.failed: list[str] = []

    def __call__(self, *cells: str) -> Any:
        for cell in cells:
            done = self.real.run_cell(cell, store_history=True)
        return done

    @property
    def text(self) -> str:
        """What was displayed last."""
        return repr(self.displayed[-1])

    @property
    def error(self) -> str:
        """What was shown of the last cell that failed."""
        return self.failed[-1]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Shell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    made = InteractiveShell.instance(config=config)
    opened = Shell(made)
    monkeypatch.setattr(
        "gradledger.integrations.jupyter._display", lambda view: opened.displayed.append(view)
    )
    monkeypatch.setattr(
        made, "_showtraceback", lambda kind, error, stb: opened.failed.append("\n".join(stb))
    )
    monkeypatch.setattr(
        made, "show_usage_error", lambda error: opened.failed.append(f"UsageError: {error}")
    )
    opened("%load_ext gradledger", MAKE)  # cells 1 and 2
    yield opened
    InteractiveShell.clear_instance()


def test_a_cell_is_audited_and_told_by_its_number_and_lines(shell: Shell) -> None:
    shell(f"%%gradledger\n{TRAIN}")
    assert shell.text.startswith("cell 3, line 5: GL101 spent-gradient-reused")
    assert "deposited  cell 3, line 4  loss.backward()" in shell.text


def test_a_function_of_an_earlier_cell_is_told_by_that_cell(shell: Shell) -> None:
    body = "".join(f"    {line}\n" for line in TRAIN.splitlines())
    shell(f"%%gradledger\ndef train():\n{body}", "1", "%%gradledger\n\ntrain()")
    assert shell.text.startswith("cell 3, line 6: GL101")


def test_lines_are_counted_below_other_magics_too(shell: Shell) -> None:
    shell(f"%%time\n%%gradledger\n{TRAIN}")
    assert shell.text.startswith("cell 3, line 6: GL101")


def test_a_magic_below_it_is_refused_with_the_way_to_write_it(shell: Shell) -> None:
    shell(f"%%gradledger\n%%time\n{TRAIN}")
    assert shell.error == "UsageError: %%gradledger: write %%time above it, in the first line"


def test_what_a_cell_leaves_for_the_next_one_is_no_fault(shell: Shell) -> None:
    shell("%%gradledger\nmodel(torch.ones(1, 4)).sum().backward()")
    assert shell.text.startswith("The books balance")
    shell("%%gradledger\noptimizer.step()")
    assert shell.text.startswith("The books balance: 2 deposits, 2 spent")
    shell("%%gradledger\noptimizer.zero_grad()\nmodel(torch.ones(1, 4)).sum().backward()")
    assert "GL" not in shell.text


def test_the_audit_is_kept_by_the_name_that_is_asked_for(shell: Shell) -> None:
    shell(f"%%gradledger mine\n{TRAIN}", "rules = [finding.rule for finding in mine.findings]")
    assert shell.real.user_ns["rules"] == ["GL101"]


def test_raise_on_shows_the_users_frames_and_not_ours(shell: Shell) -> None:
    done = shell(f"%%gradledger --raise-on error\n{TRAIN}")
    assert type(done.error_in_exec).__name__ == "LawBroken"
    assert re.search(r"----> 5 +optimizer\.step\(\)", shell.error)
    assert "LawBroken: cell 3, line 5: GL101" in shell.error
    assert "gradledger/runtime" not in shell.error
    assert "torch/optim" not in shell.error
    assert "run_cell_magic" not in shell.error


def test_so_does_a_plain_audit(shell: Shell) -> None:
    body = "".join(f"    {line}\n" for line in TRAIN.splitlines())
    shell(f"import gradledger\nwith gradledger.audit(raise_on='error'):\n{body}")
    assert re.search(r"----> 6 +optimizer\.step\(\)", shell.error)
    assert "gradledger/runtime" not in shell.error


def test_an_error_of_the_cell_is_shown_once_and_fails_it(shell: Shell) -> None:
    done = shell("%%gradledger\nmodel(torch.ones(1, 4)).sum().backward()\n1 / 0")
    assert isinstance(done.error_in_exec, ZeroDivisionError)
    assert len(shell.failed) == 1
    assert re.search(r"----> 3 +1 / 0", shell.error)
    assert "GL" not in shell.text, "a cell that dies leaves no window over"


def test_a_cell_that_is_no_python_is_shown_without_frames(shell: Shell) -> None:
    done = shell("%%gradledger\nloss = (\n")
    assert not done.success
    assert re.search(r"Cell In\[3\], line 2\n +loss = \(\n +\^\nSyntaxError: ", shell.error)
    assert "gradledger/" not in shell.error
    assert "run_cell_magic" not in shell.error


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%gradledger --nonsense\n1", "%%gradledger: unrecognized arguments: --nonsense. "),
        ("%%gradledger --sample 0\n1", "sample must be at least 1, got 0. "),
        ("%%gradledger 1x\n1", "%%gradledger: '1x' can't be the name of a variable. "),
        ("%%gradledger 'x\n1", "%gradledger: No closing quotation in "),
        ("%gradledger", "%gradledger : there is no such magic. %%gradledger audits "),
        ("%gradledger chekc", "%gradledger chekc: there is no such magic. "),
    ],
)
def test_bad_input_gets_one_clear_sentence(shell: Shell, cell: str, said: str) -> None:
    shell(cell)
    assert shell.error.startswith(f"UsageError: {said}")
    assert not shell.displayed


def test_check_reads_the_cells_so_far_and_no_text_that_was_replaced(shell: Shell) -> None:
    note = shell.real.gradledger_magics.note

    class Info:
        cell_id = "a"

    note(Info)
    shell(TRAIN)
    shell("%gradledger check")
    assert shell.text.startswith("cell 3, line 4: GL101")
    note(Info)
    shell(TRAIN.replace("loss.backward()", "loss.backward()\n    optimizer.zero_grad()"))
    shell("%gradledger check")
    assert "cell 3" not in shell.text
    assert "cell 5, line 4: GL201" in shell.text


def test_check_ignores_what_comments_say(shell: Shell) -> None:
    shell(TRAIN.replace("step()", "step()  # gradledger: ignore[GL101] on purpose"))
    shell("%gradledger check")
    assert "GL101" not in shell.text
    assert "1 finding ignored by comments" in shell.text


def test_check_names_the_cells_that_it_could_not_read_or_follow(shell: Shell) -> None:
    shell("loss = (", "def train(made):\n    made().backward()\n    made.step()")
    shell("%gradledger check")
    assert "\n  cell 3, line 1: not checked: " in shell.text
    assert ": unknown: " not in shell.text
    shell("%gradledger check --unknown")
    assert "\n  cell 4, line 1: unknown: train()" in shell.text
    assert "unknown: train()" in html(shell.displayed[-1])


def test_the_extension_can_be_unloaded(shell: Shell) -> None:
    shell("%unload_ext gradledger", "%gradledger check")
    assert "`%gradledger` not found" in shell.error


class Tags(HTMLParser):
    """Are all tags closed, and in order?"""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_html_has_the_code_the_places_the_cure_and_a_timeline(shell: Shell) -> None:
    shell(f"%%gradledger book\n{TRAIN}")
    made = html(shell.displayed[-1])
    tags = Tags()
    tags.feed(made)
    assert tags.open == []
    assert tags.seen.count("svg") > 1
    for part in ("GL101 spent-gradient-reused", "cell 3, line 5", "optimizer.zero_grad() once"):
        assert part in made
    assert made.count('class="gl-window gl-again"') == 3, "three of four steps spend again"
    assert "no optimizer" not in made, "the first deposit is the optimizer's, met after it"
    book = shell.real.user_ns["book"]
    assert 'class="gl-window' in html(book)
    alone = html(book.findings[0])
    assert 'class="gl-head"' not in alone
    assert "cell 3, line 4" in alone
    assert "loss.backward" in alone


def test_what_stands_in_a_cell_cannot_break_out_of_the_html(shell: Shell) -> None:
    evil = TRAIN.replace("optimizer.step()", "optimizer.step()  # </div><script>alert(1)</script>")
    shell(f"%%gradledger\n{evil}")
    assert "<script" not in html(shell.displayed[-1])
