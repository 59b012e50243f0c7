"""`report --diff`: one recorded run against another."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, TextIO

from gradledger.errors import OptionError

FORMATS = ("text", "json")


class Diff(argparse.Action):
    """`--diff before after`, `before --diff after`: the recordings in the order of the words."""

    def __call__(
        self, parser: argparse.ArgumentParser, args: argparse.Namespace, values: Any, *_: object
    ) -> None:
        args.diff = tuple(args.recordings or ()), tuple(values)


def named(args: argparse.Namespace) -> list[str]:
    """The two recordings that `--diff` and the rest of the line name, in order."""
    before, after = args.diff
    return [*before, *after, *(() if before else args.recordings)]


def compared(
    names: Sequence[str],
    *,
    kept: Collection[str],
    format: str,
    fail_on: Literal["error", "warning", "unseen"] | None,
) -> tuple[Callable[[TextIO], None], int]:
    """A function that writes the difference, and the exit status: 1 if there are new faults."""
    from gradledger.cli.recordings import chronicles
    from gradledger.report.balance import fails
    from gradledger.report.comparison import compare

    if format not in FORMATS:
        raise OptionError(f"--diff is {' or '.join(FORMATS)}, and not {format}.")
    if len(names) != 2:
        raise OptionError(
            f"--diff needs two recordings, before and after, and got {len(names)}. With several "
            "ranks, name one of them."
        )
    before, after = names
    comparison = compare(chronicles([before]), chronicles([after]), kept=kept)

    def write(stream: TextIO) -> None:
        if format == "json":
            import json

            from gradledger.report.comparison import document
            from gradledger.report.visible import put

            put(json.dumps(document(comparison), indent=2), stream)
        else:
            from gradledger.report.comparison import lines
            from gradledger.report.terminal import Terminal

            terminal = Terminal(stream)
            terminal.show(lines(comparison, terminal, (before, after)))

    known = {(entry.what, entry.why) for entry in comparison.before.verdict.unseen}
    verdict = comparison.after.verdict
    unseen = tuple(entry for entry in verdict.unseen if (entry.what, entry.why) not in known)
    new = verdict._replace(findings=comparison.findings.new, unseen=unseen)
    return write, int(fails(new, fail_on or "warning"))
