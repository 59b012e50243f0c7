"""A verdict in one of the formats, on a stream."""

from __future__ import annotations

import sys

from gradledger.errors import OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from gradledger.ledger.verdict import Verdict
    from gradledger.report.inspection import Inspection
    from gradledger.report.replacements import Cures

FORMATS = ("text", "concise", "json", "github", "sarif", "gitlab", "rdjson")


class UnknownFormatError(OptionError):
    """There is no report format of this name."""


def render(
    verdict: Verdict | Inspection,
    format: str = "text",
    *,
    stream: TextIO | None = None,
    quiet: bool = False,
    unknown: bool = False,
    statistics: bool = False,
    cures: Cures | None = None,
) -> None:
    """Writes the verdict of a run, or the findings of a check, to the stream (standard output).

    `quiet`: text with one line per finding. `unknown`: text also lists what could not be followed.
    `statistics`: text has the number of findings per rule instead of the findings. `cures`: formats
    for programs include the edits that are certain.
    """
    if format not in FORMATS:
        raise UnknownFormatError(
            f"no report format is called {format!r}. There are {', '.join(FORMATS)}."
        )
    stream = sys.stdout if stream is None else stream
    if format in ("text", "concise"):
        from gradledger.report.for_people import laid_out
        from gradledger.report.terminal import Terminal

        terminal = Terminal(stream)
        terminal.show(
            laid_out(
                verdict,
                terminal,
                concise=format == "concise",
                quiet=quiet,
                unknown=unknown,
                statistics=statistics,
            )
        )
        return
    from gradledger.report.visible import put

    if format == "github":
        from gradledger.report import github

        for command in github.commands(verdict):
            put(command, stream)
    else:
        import json

        put(json.dumps(_document(verdict, format, cures), indent=2), stream)
    stream.flush()


def _document(verdict: Verdict | Inspection, format: str, cures: Cures | None) -> object:
    if format == "json":
        from gradledger.report import as_json

        return as_json.document(verdict)
    if format == "sarif":
        from gradledger.report import sarif

        return sarif.document(verdict, cures)
    if format == "rdjson":
        from gradledger.report import rdjson

        return rdjson.document(verdict, cures)
    from gradledger.report import gitlab

    return gitlab.document(verdict)
