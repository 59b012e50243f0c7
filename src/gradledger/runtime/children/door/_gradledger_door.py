"""What a Python process knows of the audit that it was started under: inherited, and passed on.

It is loaded at the start of every such Python, whichever that is, so it stands on nothing but what
Python has loaded by then. Two variables of the environment tell of the audit, and PYTHONPATH leads
here. The program sees none of it: they are in the environment that its own children inherit, and
not in `os.environ`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

AUDIT = "GRADLEDGER_AUDIT"
"""The folder where the processes of an audit leave what they have to say."""
RANK = "GRADLEDGER_RANK"
"""The rank that a process has claimed for itself: those that it starts inherit RANK, too."""
PYTHON = "python"
"""A file there: which Python is audited, and where gradledger is."""

HERE = os.path.dirname(os.path.abspath(__file__))
_ENVIRONMENT = 5
"""Which argument of `fork_exec` is the environment; None means this process's own."""


def this_python() -> str:
    """Tells one environment of Python from others."""
    major, minor = sys.version_info[:2]
    return f"{sys.prefix} {major}.{minor}"


class Inheritance:
    """What processes get to know that this one starts."""

    current: Inheritance | None = None
    """Of this process."""

    def __init__(self, folder: str, claimed: str = "") -> None:
        self.folder = folder
        self.claimed = claimed
        self.started: list[Callable[[], None]] = []
        """Told of each command that is started."""

    def begin(self) -> None:
        """Hand it on from now on."""
        if Inheritance.current is None:
            self._watch()
        Inheritance.current = self
        self.put()

    def end(self) -> None:
        """Calls no one any more."""
        Inheritance.current = None
        for name in (AUDIT, RANK):
            os.unsetenv(name)
        pythonpath = os.environ.get("PYTHONPATH")
        if pythonpath is None:
            os.unsetenv("PYTHONPATH")
        else:
            os.putenv("PYTHONPATH", pythonpath)

    def put(self) -> None:
        """Into the environment that is inherited, and not into `os.environ`."""
        for name, value in self._variables(os.environ.get("PYTHONPATH", "")).items():
            os.putenv(name, value)

    def added_to(self, environment: Sequence[bytes]) -> list[bytes]:
        """The environment that a program has made for a process: `[b"NAME=value"]`."""
        paths = [entry for entry in environment if entry.startswith(b"PYTHONPATH=")]
        ours = self._variables(os.fsdecode(paths[-1].partition(b"=")[2]) if paths else "")
        told = {entry.partition(b"=")[0]: entry for entry in environment}  # in their order
        told.update((os.fsencode(n), os.fsencode(n + "=" + value)) for n, value in ours.items())
        return list(told.values())

    def _variables(self, pythonpath: str) -> dict[str, str]:
        path = os.pathsep.join(filter(None, (HERE, pythonpath)))
        return {AUDIT: self.folder, RANK: self.claimed, "PYTHONPATH": path}

    @staticmethod
    def _watch() -> None:
        """All that Python starts goes through one function, under two names."""
        try:
            import _posixsubprocess
        except ImportError:  # Windows, where they inherit what was put there
            return
        real = _posixsubprocess.fork_exec

        def fork_exec(*args: Any) -> int:
            inheritance = Inheritance.current
            if inheritance is not None:
                if args[_ENVIRONMENT] is None:
                    inheritance.put()  # the program may have set a PYTHONPATH of its own
                else:
                    told = inheritance.added_to(args[_ENVIRONMENT])
                    args = (*args[:_ENVIRONMENT], told, *args[_ENVIRONMENT + 1 :])
            process: int = real(*args)
            if inheritance is not None:
                if _ignores_environment(args[0]):
                    _cannot_come_in(inheritance.folder, process, args[0])
                for hear in inheritance.started:
                    hear()
            return process

        _posixsubprocess.fork_exec = fork_exec
        subprocess: Any = sys.modules.get("subprocess")
        if getattr(subprocess, "_fork_exec", None) is real:
            subprocess._fork_exec = fork_exec


def _ignores_environment(command: Sequence[Any]) -> bool:
    """Whether it is a Python that looks at no variables, or loads no `sitecustomize`."""
    words = [os.fsdecode(word) for word in command]
    if not words or not os.path.basename(words[0]).startswith("python"):
        return False
    for word in words[1:]:
        if not word.startswith("-") or word.startswith("--"):
            return False
        if set(word) & set("IES"):
            return True
        if set(word) & set("cm"):
            return False
    return False


def _cannot_come_in(folder: str, process: int, command: Sequence[Any]) -> None:
    try:
        from gradledger.runtime.children.isolated import say_unseen

        say_unseen(folder, process, [os.fsdecode(word) for word in command])
    except Exception:  # the program runs all the same
        pass


def enter() -> None:
    """This Python has just started, in a program that is audited."""
    folder = os.environ.pop(AUDIT, "")
    claimed = os.environ.pop(RANK, "")
    try:
        with open(os.path.join(folder, PYTHON), encoding="utf-8") as file:
            python, home = file.read().split("\n")
    except (OSError, ValueError):  # the audit is over
        return
    Inheritance(folder, claimed).begin()
    if python == this_python():
        Door.current = Door(home)
        sys.meta_path.insert(0, Door.current)
    else:
        import atexit

        atexit.register(_say_unseen, folder)


class Door:
    """Finds nothing, but sees that torch is looked for. Before that, nothing is loaded."""

    current: Door | None = None
    """Where it hasn't been looked for yet."""

    def __init__(self, home: str) -> None:
        self._home = home

    def close(self) -> None:
        """No process comes in any more."""
        Door.current = None
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """What the others find, who know of us from now on."""
        if name != "torch":
            return None
        self.close()
        inheritance = Inheritance.current
        if inheritance is not None:
            try:
                self._let_in(inheritance)
            except Exception:  # a gradledger that does not fit, or none
                import atexit

                atexit.register(_say_unseen, inheritance.folder)
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find and find(name, path, target)
            if spec is not None:
                return spec
        return None

    def _let_in(self, inheritance: Inheritance) -> None:
        try:
            from gradledger.runtime.children.child import enter
        except ModuleNotFoundError:
            sys.path.append(self._home)
            try:
                from gradledger.runtime.children.child import enter
            finally:
                sys.path.remove(self._home)
        enter(inheritance)


def _say_unseen(folder: str) -> None:
    """Leave a word that this process may have trained, and was not audited."""
    if "torch" in sys.modules:
        try:
            with open(os.path.join(folder, f"{os.getpid()}.unseen"), "w") as file:
                file.write("another Python environment")
        except OSError:
            pass
