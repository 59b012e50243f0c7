"""Audits short programs in the process of the tests."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import gradledger
from gradledger.ledger.findings import Finding
from gradledger.runtime.audit import Audit


def audited(program: Path, text: str) -> tuple[list[Finding], BaseException | None]:
    """What is found in a program, and what it died of."""
    program.write_text(text, encoding="utf-8")
    book, died = Audit(main=str(program)), list[BaseException]()

    def run() -> None:
        try:
            with _alone(), book:
                runpy.run_path(str(program), run_name="__main__")
        except Exception as error:
            died.append(error)

    # In a thread, whose frames are the program's: an audit looks through all that are below it,
    # and those of the test runner hold thousands of tests.
    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert book.verdict("").trouble == ""
    return list(book.findings), died[0] if died else None


@contextmanager
def _alone() -> Iterator[None]:
    """Without what other tests have imported, which an audit would take for the program's own."""
    installed = *{sys.prefix, sys.base_prefix}, str(Path(gradledger.__file__).parent)
    ours = {
        name: module
        for name, module in list(sys.modules.items())
        if (path := getattr(module, "__file__", None)) and not path.startswith(installed)
    }
    for name in ours:
        del sys.modules[name]
    try:
        yield
    finally:
        sys.modules.update(ours)


def marked(text: str, mark: str = "# here") -> int:
    """The one line that bears this mark."""
    (line,) = (n for n, line in enumerate(text.splitlines(), 1) if mark in line)
    return line
