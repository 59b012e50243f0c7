"""Take a tour: the laws, three faults in programs that run, and the auditor at work.

It ends with an HTML report, which is written to the working directory.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING

from gradledger.report.terminal import Line, Terminal

if TYPE_CHECKING:
    import subprocess

    from gradledger.rules import Rule

TOUR = {"GL101": "Spent twice", "GL201": "Thrown away", "GL301": "Weighed wrong"}
"""Three faults without an error or a warning: only what the programs print shows them."""

_IDEA = (
    "gradledger keeps the books of your gradients. Every `backward()` deposits, every "
    "`optimizer.step()` spends, every `zero_grad()` clears. It reports, with file and line, a "
    "deposit that is spent twice, thrown away, weighed wrong or never used."
)
_AUDITOR = (
    "You don't have to look for such lines yourself. `gradledger run` runs a script as plain "
    "Python does, with the same results, and reports at the end what became of each gradient. "
    "`--html` writes it as a page."
)
_REPORT = "gradledger-report.html"
_WORDS = (
    "A cell is one parameter's `.grad`. A window is all the deposits that one step spends. The "
    "owner of a cell is the optimizer that holds the parameter."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The tour has no options."""


def run(args: argparse.Namespace) -> int:
    """Shows the tour."""
    from gradledger.cli.live import Live
    from gradledger.rules import find, programs
    from gradledger.torch_extra import torch_is_installed

    terminal = Terminal()
    rules = [find(code) for code in TOUR]
    with ExitStack() as stack:
        players: list[Live] = []
        audit: subprocess.Popen[str] | None = None
        if torch_is_installed():
            # They start now, and have finished when the reader reaches them.
            players = [
                stack.enter_context(Live(map(kind, rules)))
                for kind in (programs.bad, programs.good)
            ]
            audit = stack.enter_context(_audit(terminal))
        terminal.show(_opening(terminal, can_run=bool(players)))
        for number, rule in enumerate(rules, start=1):
            terminal.show(_fault(terminal, rule, f"{number}. {TOUR[rule.code]}"))
            if players:
                with terminal.waiting("both programs are running"):
                    wrong, right = (player.next_output() for player in players)
                terminal.show(_side_by_side(terminal, wrong, right))
        terminal.show(_auditor(terminal, can_run=audit is not None))
        if audit is not None:
            with terminal.waiting("the program is being audited"):
                said, _ = audit.communicate()
            terminal.show(_as_it_came(said, terminal))
        terminal.show(_closing())
    return 0


@contextmanager
def _audit(terminal: Terminal) -> Iterator[subprocess.Popen[str]]:
    """`gradledger run` on two nets that train each other."""
    import shutil
    import subprocess
    from pathlib import Path
    from tempfile import TemporaryDirectory

    colour = {"FORCE_COLOR": "1"} if terminal.colour else {}
    kept = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "NO_COLOR")}
    with TemporaryDirectory(prefix="gradledger-tour-") as folder:
        shutil.copyfile(Path(__file__).with_name("programs") / "train.py", f"{folder}/train.py")
        options = ["--html", _report()]
        with subprocess.Popen(
            # Warnings of torch when it is loaded are about this machine, and not part of the tour.
            [sys.executable, "-W", "ignore", "-m", "gradledger", "run", *options, "train.py"],
            cwd=folder,
            env={
                **kept,
                **colour,
                "COLUMNS": str(terminal.width),
                "OMP_NUM_THREADS": "1",
                "PYTHONIOENCODING": "utf-8",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def _report() -> str:
    """The path of the page: here, unless another file has that name."""
    from tempfile import mkdtemp

    from gradledger.cli.delivery import OutputError, check_output, is_ours

    try:
        here = check_output(_REPORT, option="--html")
        if not os.path.exists(here) or is_ours(here):
            return here
    except (OSError, OutputError):
        pass
    return os.path.join(mkdtemp(prefix="gradledger-"), _REPORT)


def _opening(terminal: Terminal, *, can_run: bool) -> Iterator[Line]:
    from gradledger.ledger.laws import Law
    from gradledger.torch_extra import INSTALL

    yield from terminal.prose(_IDEA, indent=0)
    yield ()
    yield (("The nine laws", "heading"),)
    for law in Law:
        yield from terminal.prose(law.text, lead=f"  {law.number}  {law.title:<16}", indent=22)
    yield ()
    yield from terminal.prose(_WORDS)
    yield ()
    yield (("Three ways to break them", "heading"),)
    if can_run:
        yield from terminal.prose(
            "Each program runs now, as it is and with the fault fixed. None of them raises or "
            "warns."
        )
    else:
        yield from terminal.prose(
            "PyTorch is not installed, so the programs are shown and not run. To get it:"
        )
        yield ("    ", (INSTALL, "code"))


def _fault(terminal: Terminal, rule: Rule, title: str) -> Iterator[Line]:
    from gradledger.rules import programs
    from gradledger.rules.explanation import sentence

    severity = rule.severity.value
    yield ()
    yield ((f"{title}: {rule.code} {rule.name}", "heading"), "  ", (severity, severity))
    yield from terminal.prose(sentence(rule.says))
    yield ()
    yield from terminal.frame(programs.bad(rule), "fault")
    yield from terminal.prose(rule.fix, lead="  = fix:", indent=9)


def _side_by_side(terminal: Terminal, left: list[str], right: list[str]) -> Iterator[Line]:
    """Two outputs side by side, or one below the other if that is too wide."""
    titles = (("it prints", "fault"), ("cured, it prints", "cure"))
    margin, gap = " " * 2, 3
    yield ()
    column = max(map(len, [*left, titles[0][0]])) + gap
    if len(margin) + column + max(map(len, [*right, titles[1][0]])) <= terminal.width:
        yield (margin, titles[0], " " * (column - len(titles[0][0])), titles[1])
        for a, b in zip_longest(left, right, fillvalue=""):
            yield (margin, f"{a:<{column}}{b}")
    else:
        for title, lines in zip(titles, (left, right), strict=True):
            yield (margin, title)
            for line in lines:
                yield (margin, line)


def _auditor(terminal: Terminal, *, can_run: bool) -> Iterator[Line]:
    from gradledger.torch_extra import INSTALL

    yield ()
    yield (("The auditor", "heading"),)
    yield from terminal.prose(_AUDITOR)
    if can_run:
        yield from terminal.prose("Two nets that train each other, and what went unnoticed:")
        yield ()
        yield ((f"$ gradledger run --html {_REPORT} train.py", "code"),)
    else:
        yield from terminal.prose("It needs PyTorch:")
        yield ("    ", (INSTALL, "code"))


def _as_it_came(said: str, terminal: Terminal) -> Iterator[Line]:
    """The output of another process, printed for this terminal with its colours."""
    for line in said.splitlines():
        if terminal.colour:
            from rich.text import Text

            yield (Text.from_ansi(line),)
        else:
            yield (line,)


def _closing() -> Iterator[Line]:
    from gradledger.rules import CATALOGUE

    yield ()
    yield (("Read on", "heading"),)
    for command, about in {
        "gradledger check src": "your own code, without running it",
        "gradledger run train.py": "your own script, audited while it trains",
        "gradledger run --html r.html train.py": "and a page to explore",
        "gradledger rules": f"all {len(CATALOGUE)} rules",
        "gradledger rule GL101": "one of them: why it matters, how to fix it",
        "gradledger rule GL101 --program bad": "its program, to try out",
    }.items():
        yield ("  ", (f"{command:<39}", "code"), about)
