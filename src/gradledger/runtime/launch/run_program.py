"""Runs a program as plain Python would run it, with an auditor whom it does not notice.

Nearly all is left to Python itself: what ends the program goes on up, out of our frames, and Python
reports it, waits for threads and calls what was registered at exit.
"""

from __future__ import annotations

import builtins
import sys
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from types import CodeType, FunctionType, ModuleType, TracebackType

from gradledger.runtime.children import forks
from gradledger.runtime.launch.scripts import TargetError
from gradledger.runtime.launch.targets import Target
from gradledger.runtime.processes.program_exit import Auditor, ProgramExit
from gradledger.runtime.processes.tracebacks import leave_ours_out
from gradledger.runtime.program.import_hooks import when_imported


def launch(target: Target, auditor: Auditor, *, at_sigterm: bool = False) -> int:
    """Runs the target in this process, for which this is the last thing to do.

    Returns 0 where the program came to its end, and raises whatever else ended it. TargetError
    means that nothing was run. `at_sigterm`: the auditor has a turn before that signal ends it.
    """
    main = become(target)
    ending = ProgramExit(auditor, at_sigterm=at_sigterm)
    forks.first_child.append(ending.expect_sigterm)
    when_imported("torch", ending.begin, late=ending.begin_late)
    first = target.code or _runs_modules().__code__
    try:
        if target.code is not None:
            exec(target.code, main.__dict__)
        else:
            _runs_modules()(target.module, alter_argv=target.module != "__main__")
    except SystemExit as stop:
        if target.code is None and _last_code(stop) is first:
            # runpy's own doing: there is no such module, or it can't be run.
            ending.cancel()
            reason = str(stop.code).removeprefix(f"{sys.executable}: ")
            raise TargetError(f"{target.subject} can't be run: {reason}.") from None
        ending.exited(stop.code)
        raise
    except BaseException as error:
        ending.died(error)
        _hide_frames_above(first)
        raise
    ending.exited(None)
    return 0


def become(target: Target) -> ModuleType:
    """What Python has set when it starts a program."""
    sys.argv[:] = target.argv
    if target.folder is not None:
        # Replaced: there is the folder of the command `gradledger`, or the working directory.
        path_is_safe = getattr(sys.flags, "safe_path", sys.flags.isolated)
        sys.path[: 0 if path_is_safe else 1] = [target.folder]
    main = ModuleType("__main__")
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    main.__dict__["__builtins__"] = builtins
    if target.file is not None:
        kind = SourcelessFileLoader if target.file.endswith(".pyc") else SourceFileLoader
        main.__loader__ = kind("__main__", target.file)
        main.__dict__.update(__file__=target.file, __cached__=None)
    _kept.append(sys.modules["__main__"])
    sys.modules["__main__"] = main
    return main


_kept: list[ModuleType] = []
"""The `__main__` of the command `gradledger`, whose globals are in use until the end."""


def _runs_modules() -> FunctionType:
    """What Python itself calls for `-m`, and for folders and zip files."""
    import runpy

    # Private, but a traceback has its frames with plain Python, too.
    function: FunctionType = runpy._run_module_as_main  # type: ignore[attr-defined]
    return function


def _last_code(error: BaseException) -> CodeType | None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code if trace is not None else None


def _hide_frames_above(first: CodeType) -> None:
    """When Python reports what ended the program, the traceback begins with the program."""
    hook = sys.excepthook

    def report(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        sys.excepthook = hook
        error.__traceback__ = _from(first, trace)
        leave_ours_out(error)
        sys.last_traceback = trace = error.__traceback__
        try:
            hook(kind, error, trace)
        except SystemExit:
            raise
        except BaseException as failure:
            # In Python's own words: it would now show our frames again.
            print("Error in sys.excepthook:", file=sys.stderr)
            own = failure.__traceback__ and failure.__traceback__.tb_next
            sys.__excepthook__(type(failure), failure.with_traceback(own), own)
            print("\nOriginal exception was:", file=sys.stderr)
            sys.__excepthook__(kind, error, trace)

    sys.excepthook = report


def _from(first: CodeType, trace: TracebackType | None) -> TracebackType | None:
    rest = trace
    while rest is not None and rest.tb_frame.f_code is not first:
        rest = rest.tb_next
    return rest or trace
