"""A verdict in one of the formats, on a stream."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from gradledger.errors import OptionError

if TYPE_CHECKING:
    from gradledger.ledger.verdict import Verdict

FORMATS = ("text", "json", "sarif", "github")


class UnknownFormatError(OptionError):
    """There is no report format of this name."""


def render(
    verdict: Verdict, format: str = "text", *, stream: TextIO | None = None, quiet: bool = False
) -> None:
    """Writes the verdict to the stream, or to standard output. `quiet`: text, a line a finding."""
    if format not in FORMATS:
        raise UnknownFormatError(
            f"no report format is called {format!r}. There are {', '.join(FORMATS)}."
        )
    stream = sys.stdout if stream is None else stream
    if format == "text":
        from gradledger.report import text
        from gradledger.report.terminal import Terminal

        terminal = Terminal(stream)
        terminal.show(text.brief(verdict, terminal) if quiet else text.full(verdict, terminal))
        return
    from gradledger.report.printing import put

    if format == "github":
        from gradledger.report import github

        for command in github.commands(verdict):
            put(command, stream)
    else:
        import json

        from gradledger.report import as_json, sarif

        document = as_json.document(verdict) if format == "json" else sarif.document(verdict)
        put(json.dumps(document, indent=2), stream)
    stream.flush()
