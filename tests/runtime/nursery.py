"""Audits programs, each in a fork of one process that has loaded what they import.

To load torch takes seconds, and Lightning or Transformers many; most programs train for less than
one. A program may leave threads, seeds and patched modules behind: its process goes with it.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import runpy
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from gradledger.ledger.outcomes import NOTHING, Tally
from tests.processes import PROCESSES

PATIENCE = 240
"""Seconds that a program may take: far more than any does, and less than for ever."""

_MUST_BE = re.compile(r"# (GL\d{3}): \S")
_MAY_BE = re.compile(r"# may be: (GL\d{3})\b")


@dataclass(frozen=True)
class Audited:
    """What an audit said of a program, and how both of them ended."""

    findings: frozenset[str]
    """`GL101:23`, with the file's name in front where it is not the program's own."""
    words: str
    tally: Tally
    error: str = ""
    """The traceback that the program ended with."""
    trouble: str = ""
    """Why the audit ended before the program did."""
    unseen: tuple[str, ...] = ()
    """What was not seen, in words."""


class Nursery:
    """Runs programs under audit; `modules` are loaded once, before the first."""

    def __init__(self, *modules: str) -> None:
        self._ours, theirs = multiprocessing.Pipe()
        self._process = PROCESSES.Process(target=_serve, args=(theirs, modules))
        self._process.start()
        theirs.close()

    def audit(self, program: Path, *, strict: bool = False) -> Audited:
        """What the audit of this program says. Where `strict`, its warnings are its errors."""
        self._ours.send((str(program), strict))
        try:
            answer = self._ours.recv()
        except EOFError:
            raise RuntimeError(f"the process that audits programs died on {program}") from None
        assert isinstance(answer, Audited)
        return answer

    def close(self) -> None:
        """Let the process end."""
        self._ours.close()
        self._process.join()


@contextmanager
def nursery(*modules: str) -> Iterator[Nursery]:
    """A nursery that is closed at the end."""
    opened = Nursery(*modules)
    try:
        yield opened
    finally:
        opened.close()


def marked(program: Path) -> frozenset[str]:
    """The findings that the program's lines announce: `# GL101: words` means `GL101:23`."""
    return _marks(program, _MUST_BE)


def allowed(program: Path) -> frozenset[str]:
    """The findings that may come and need not: `# may be: GL204`."""
    return _marks(program, _MAY_BE)


def _marks(program: Path, mark: re.Pattern[str]) -> frozenset[str]:
    lines = program.read_text(encoding="utf-8").splitlines()
    found = ((number, mark.search(line)) for number, line in enumerate(lines, start=1))
    return frozenset(f"{match[1]}:{number}" for number, match in found if match)


# In the other process -----------------------------------------------------------------------


def _serve(programs: Connection, modules: tuple[str, ...]) -> None:
    # As in a plain Python on Linux: a loader's workers would load torch again, each of them.
    multiprocessing.set_start_method("fork", force=True)
    warnings.simplefilter("ignore")
    for module in ("torch", "torch._dynamo", "gradledger.runtime.audit", *modules):
        importlib.import_module(module)
    # On a busy machine, too, an audit looks at all that small programs hold.
    sys.modules["gradledger.runtime.program.reachable_objects"].SECONDS = PATIENCE  # type: ignore[attr-defined]
    while True:
        try:
            program, strict = programs.recv()
        except EOFError:
            return
        programs.send(_in_a_fork(program, strict))


def _in_a_fork(program: str, strict: bool) -> Audited:
    reader, writer = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        reader.close()
        signal.alarm(PATIENCE)
        writer.send(_audit(program, strict))
        os._exit(0)
    writer.close()
    try:
        answer = reader.recv()
        assert isinstance(answer, Audited)
    except EOFError:
        answer = Audited(frozenset(), "", NOTHING, error="the process died, and said nothing")
    _, status = os.waitpid(child, 0)
    if status:
        answer = Audited(frozenset(), "", NOTHING, error=f"the process died: wait status {status}")
    return answer


def _audit(program: str, strict: bool) -> Audited:
    import torch

    from gradledger.report.counts import extent
    from gradledger.runtime.audit import Audit

    _be_quiet()
    torch.set_num_threads(1)
    warnings.resetwarnings()
    warnings.simplefilter("error" if strict else "ignore")
    error = ""
    try:
        with Audit(main=program) as book:
            runpy.run_path(program, run_name="__main__")
    except BaseException:
        error = traceback.format_exc()
    verdict = book.verdict(program)
    return Audited(
        frozenset(
            f"{found.rule}:{found.at.line}"
            if found.at.path == program
            else f"{Path(found.at.path).name}:{found.rule}:{found.at.line}"
            for found in book.findings
        ),
        "\n".join(
            f"{f.rule} {f.at.path}:{f.at.line}: {f.detail}; {extent(f, verdict)}"
            for f in verdict.findings
        ),
        book.tally,
        error,
        verdict.trouble,
        tuple(entry.phrase for entry in verdict.unseen),
    )


def _be_quiet() -> None:
    silence = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(silence, descriptor)
