"""A checker for the tests of the command: it finds what a line itself says, and nothing else.

`GL101_certain()` is a certain finding of that rule, `GL301_possible()` a possible one, a line with
`deposit()` is evidence for all that follow it, and `unknown()` can't be followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest

from gradledger.ledger import Certainty, Evidence, Finding, Place
from gradledger.static.result import Checked, Unknown
from gradledger.static.runner.notebook_places import as_seen, trouble_as_seen
from gradledger.static.runner.runner import Result
from gradledger.static.source.files import Source, Trouble, from_bytes, parse, read


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradledger.cli.checking.check_paths", check_paths)
    monkeypatch.setattr("gradledger.cli.checking.check_bytes", check_bytes)


def check_paths(
    files: Sequence[str], *, progress: Callable[[int, int], None] | None = None, **_: Any
) -> Iterator[tuple[str, Result]]:
    for done, path in enumerate(files):
        yield path, _result(read(path))
        if progress is not None:
            progress(done + 1, len(files))


def check_bytes(path: str, data: bytes, **_: Any) -> Result:
    return _result(from_bytes(path, data))


def _result(source: Source | Trouble) -> Result:
    if isinstance(source, Trouble):
        return Result(troubles=(source,))
    tree = parse(source)
    if isinstance(tree, Trouble):
        return Result(troubles=(trouble_as_seen(tree, source),))
    return Result(as_seen(_checked(source), source))


def _checked(source: Source) -> Checked:
    findings: list[Finding] = []
    unknown: list[Unknown] = []
    evidence: tuple[Evidence, ...] = ()
    for number, line in enumerate(source.text.split("\n"), 1):
        if "deposit()" in line:
            evidence = (*evidence, Evidence("deposited", Place(source.path, number)))
        if "unknown()" in line:
            unknown.append(Unknown(source.path, number, "train", "it calls what is not there"))
        for found in re.finditer(r"\b(GL\d{3})_(certain|likely|possible)\(", line):
            column = len(line[: found.start()].encode())
            findings.append(
                Finding(
                    found[1],
                    Place(source.path, number, column),
                    "does so here",
                    cast(Certainty, found[2]),
                    (*evidence, Evidence("cleared", None, "never")),
                )
            )
    followed = int("GL" in source.text or "deposit()" in source.text)
    return Checked(tuple(findings), tuple(unknown), followed)
