"""Reads a script as Python would, or says in one sentence why it can't be run."""

from __future__ import annotations

from importlib.machinery import SourcelessFileLoader
from types import CodeType

from gradledger.errors import GradledgerError
from gradledger.runtime.launch import suggestions


class TargetError(GradledgerError):
    """There is nothing that could be run. Nothing was run."""


def compiled(path: str, file: str) -> CodeType:
    """The code of the script at `path`, which will know itself as `file`."""
    if path.endswith(".pyc"):
        return _bytecode(path, file)
    source = _read(path)
    first_line = source.partition(b"\n")[0]
    if first_line.startswith(b"#!") and not (b"python" in first_line or _is_python(path, source)):
        program = first_line[2:].decode("utf-8", "replace").strip()
        raise TargetError(
            f"{path} isn't a Python program: its first line says that {program} runs it. "
            f"{suggestions.of_shell_script(source)}"
        )
    if path.endswith((".sh", ".bash")) and not first_line.startswith(b"#!"):
        said = suggestions.of_shell_script(source)
        raise TargetError(f"{path} is a shell script, and no Python program. {said}")
    if b"\0" in source:
        raise TargetError(f"{path} isn't a Python program: it is a binary file.")
    try:
        return compile(source, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = f"line {error.lineno}: " if error.lineno else ""
        raise TargetError(f"{path} is not valid Python: {line}{error.msg}.") from None


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise TargetError(f"{path} can't be read: {error.strerror}.") from None


def _bytecode(path: str, file: str) -> CodeType:
    try:
        code = SourcelessFileLoader("__main__", file).get_code("__main__")
    except (OSError, ImportError, EOFError, ValueError, TypeError) as error:
        raise TargetError(f"{path} can't be run by this Python: {error}.") from None
    assert code is not None
    return code


def _is_python(path: str, source: bytes) -> bool:
    """True for Python that something else starts: `uv run`, or a shell that hands it on.

    Commands with long paths are shell scripts whose second line does that.
    """
    second_line = source.split(b"\n", 2)[1:2]
    if second_line and second_line[0].startswith(b"'''exec'"):
        return True
    return path.endswith((".py", ".pyw"))
