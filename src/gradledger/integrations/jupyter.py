"""Magics for IPython and Jupyter: `%%gradledger` audits a cell, `%gradledger check` reads them all.

`%load_ext gradledger` brings them. Nothing of IPython is imported: it is there when it calls us.
"""

from __future__ import annotations

import argparse
import os
import shlex
from typing import TYPE_CHECKING, Any, NoReturn

from gradledger.errors import GradledgerError, OptionError
from gradledger.report.notebook import View

if TYPE_CHECKING:
    from gradledger.runtime.audit import Audit

_USAGE = (
    "%%gradledger audits the cell that it begins, and `%gradledger check` reads all cells that "
    "were run so far"
)
_MARK = "# %%gradledger"


def load(shell: Any) -> None:
    """Register the magics with this IPython."""
    magics = Magics(shell)
    shell.register_magic_function(magics.run, magic_kind="line_cell", magic_name="gradledger")
    shell.events.register("pre_run_cell", magics.note)
    shell.gradledger_magics = magics


def unload(shell: Any) -> None:
    """Take them away again."""
    magics = vars(shell).pop("gradledger_magics", None)
    if magics is not None:
        shell.events.unregister("pre_run_cell", magics.note)
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop("gradledger", None)


class Magics:
    """What `%gradledger` and `%%gradledger` do in one IPython."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._runs: dict[str, int] = {}
        """For each cell, the execution count of its latest run."""
        self._replaced: set[int] = set()
        """Executions of cells that have run again since, perhaps with another text."""

    def note(self, info: Any) -> None:
        """A cell is about to run."""
        cell = getattr(info, "cell_id", None)
        if cell is not None:
            if cell in self._runs:
                self._replaced.add(self._runs[cell])
            self._runs[cell] = self._shell.execution_count

    def run(self, line: str, cell: str | None = None) -> None:
        """`%gradledger check`, or `%%gradledger` and a cell."""
        try:
            if cell is None:
                _display(self._checked(line))
                return
            audit = self._begun(line, cell)
        except GradledgerError as error:
            _refuse(str(error))
        self._audit(audit, cell)

    # %%gradledger

    def _begun(self, line: str, cell: str) -> Audit:
        from gradledger.torch_extra import require_torch

        require_torch("%%gradledger")
        options = _parsed(_cell_options(), line)
        if cell.startswith("%%"):
            magic = cell.split(maxsplit=1)[0]
            raise OptionError(f"%%gradledger: write {magic} above it, in the first line")
        from gradledger.runtime.audit import Audit

        audit = Audit(raise_on=options.raise_on, record=options.record, sample=options.sample)
        self._shell.user_ns[options.book] = audit
        return audit.__enter__()

    def _audit(self, audit: Audit, cell: str) -> None:
        shell, number = self._shell, self._running
        failure = _Failure(shell, audit, number)
        with failure:
            done = shell.run_cell(self._lines_above(number, cell) + cell)
        error = done.error_in_exec
        audit.__exit__(type(error) if error else None, error, error and error.__traceback__)
        if done.error_before_exec is not None:
            raise failure.before_it_ran(done.error_before_exec)
        _display(View(audit.verdict("this cell"), audit.opening, audit.names))
        if error is not None:
            raise failure.shown(error)

    @property
    def _running(self) -> int:
        """The number of the cell that runs: newer ones of IPython count on before it has ended."""
        return len(self._shell.history_manager.input_hist_raw) - 1

    def _lines_above(self, number: int, cell: str) -> str:
        """Comments in place of the magics above a cell, so that its lines count as it shows."""
        raw = self._shell.history_manager.input_hist_raw[number]
        above: str = raw[: max(raw.rfind(cell.rstrip("\n")), 0)]
        return f"{_MARK}\n" * max(above.count("\n"), 1)

    # %gradledger check

    def _checked(self, line: str) -> View:
        words = _words(line)
        if words[:1] != ["check"]:
            raise OptionError(f"%gradledger {line}: there is no such magic. {_USAGE}.")
        options = _parsed(_check_options(), shlex.join(words[1:]))
        from gradledger.integrations.notebook_check import check, rows

        history = self._shell.history_manager.input_hist_raw
        cells = {n: raw for n, raw in enumerate(history) if raw and n not in self._replaced}
        said = check(cells, possible=options.possible)
        return View(said, rows=tuple(rows(said, unknown=options.unknown)))


class InvalidCode(Exception):
    """In place of a SyntaxError: of those, IPython shows all frames, ours too."""


class _Failure:
    """Keeps IPython from showing what ends the cell inside: it is shown once, by the cell itself.

    The traceback has the frames of the user, and not ours.
    """

    def __init__(self, shell: Any, audit: Audit, number: int) -> None:
        self._shell = shell
        self._places = audit.journal.places
        self._number = number
        self._lines: list[str] = []

    def __enter__(self) -> None:
        shell = self._shell
        self._before = shell.custom_exceptions, shell.__dict__.get("CustomTB")
        shell.set_custom_exc((Exception, KeyboardInterrupt), self._caught)

    def __exit__(self, *raised: object) -> None:
        self._shell.custom_exceptions, self._shell.CustomTB = self._before
        self._correct_numbers()

    def _correct_numbers(self) -> None:
        """The code inside a magic is code of the cell, and not of the next one."""
        numbers = getattr(self._shell.compile, "_filename_map", {})
        for name, number in numbers.items():
            numbers[name] = min(number, self._number)

    def _caught(
        self, shell: Any, kind: Any, error: BaseException, trace: Any, tb_offset: int | None = None
    ) -> list[str]:
        from gradledger.errors import LawBroken
        from gradledger.runtime.processes.tracebacks import leave_ours_out

        self._correct_numbers()
        if isinstance(error, LawBroken):
            self._places.end_at_users_line(trace)
        leave_ours_out(error)
        self._lines = shell.InteractiveTB.structured_traceback(
            kind, error, error.__traceback__, tb_offset=1
        )
        return self._lines

    def before_it_ran(self, error: BaseException) -> BaseException:
        """What kept the cell from running; a SyntaxError without frames, as IPython shows it."""
        if isinstance(error, SyntaxError):
            self._lines = self._shell.SyntaxTB.structured_traceback(type(error), error, [])
        return self.shown(error)

    def shown(self, error: BaseException) -> BaseException:
        """The error, which IPython shows as it would have shown it without us."""
        lines = self._lines
        if lines:
            error = InvalidCode(str(error)) if isinstance(error, SyntaxError) else error
            error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
        return error


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(f"{self.prog}: {message}. {_USAGE}.")


def _cell_options() -> _Parser:
    parser = _Parser("%%gradledger", add_help=False, allow_abbrev=False)
    parser.add_argument("book", nargs="?", default="_gradledger")
    parser.add_argument("--raise-on", choices=("error", "warning"))
    parser.add_argument("--record")
    parser.add_argument("--sample", type=int)
    return parser


def _check_options() -> _Parser:
    parser = _Parser("%gradledger check", add_help=False, allow_abbrev=False)
    parser.add_argument("--possible", action="store_true")
    parser.add_argument("--unknown", action="store_true")
    return parser


def _parsed(parser: _Parser, line: str) -> argparse.Namespace:
    options = parser.parse_args(_words(line))
    book = getattr(options, "book", "_")
    if not book.isidentifier():
        raise OptionError(f"{parser.prog}: {book!r} can't be the name of a variable. {_USAGE}.")
    return options


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, posix=os.name != "nt")
    except ValueError as error:
        raise OptionError(f"%gradledger: {error} in {line!r}") from None


def _display(view: View) -> None:
    from IPython.display import display

    display(view)  # type: ignore[no-untyped-call]


def _refuse(message: str) -> NoReturn:
    from IPython.core.error import UsageError

    raise UsageError(message)
