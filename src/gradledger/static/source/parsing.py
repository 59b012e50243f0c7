"""Text to tree; and in plain words, why not."""

from __future__ import annotations

import sys
import warnings

from gradledger.static import budget
from gradledger.static.source import syntax as ast

_PYTHON_2 = (
    "Missing parentheses in call to",
    "multiple exception types must be parenthesized",
    "leading zeros in decimal integer literals",
)


class NotPython(Exception):
    """The text has no tree. The message says why."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def tree(text: str, path: str = "<unknown>") -> ast.Module:
    """What `ast.parse` makes of it, without its warnings."""
    if len(text) > budget.LONGEST_SOURCE:
        most = budget.LONGEST_SOURCE // 1_000_000
        raise NotPython(0, f"it has more than {most} million letters, which takes too long to read")
    if text.count(".") > budget.LONGEST_IMPORT and _has_long_import(text):
        raise NotPython(0, "an import of it is so long that Python takes too long to read it")
    if sys.version_info < (3, 12) and text.count("{") * len(text) > budget.MOST_FORMATTING:
        from gradledger.static.source.f_strings import take_too_long

        if take_too_long(text):
            raise NotPython(0, "its f-strings are so long that Python takes too long to read them")
    try:
        try:
            return _parsed(text, path)
        except SyntaxError as error:
            newer = (error.msg or "").startswith("f-string") and _with_other_quotes(text, path)
            if newer:
                return newer
            raise
    except SyntaxError as error:
        raise NotPython(error.lineno or 0, _syntax(error)) from None
    except (RecursionError, MemoryError):
        raise NotPython(0, "its code is nested more deeply than Python can read") from None
    except ValueError as error:  # lone surrogates, and whatever else is no text
        raise NotPython(0, f"it is not Python: {error}") from None


def _has_long_import(text: str) -> bool:
    """For each dot, Python copies all that is before it."""
    lines = text.replace("\\\n", "").split("\n")
    return any(line.count(".") > budget.LONGEST_IMPORT and "import" in line for line in lines)


def _parsed(text: str, path: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, path)


def _with_other_quotes(text: str, path: str) -> ast.Module | None:
    """The tree of a text whose f-strings are newer than the Python that runs; None if it is not."""
    from gradledger.static.source.f_strings import requoted

    other = requoted(text)
    try:
        return None if other is None else _parsed(other, path)
    except SyntaxError:
        return None


def _syntax(error: SyntaxError) -> str:
    said = error.msg or "invalid syntax"
    if any(sign in said for sign in _PYTHON_2):
        return f"it looks like Python 2, and only Python 3 is read: {said}"
    version = ".".join(map(str, sys.version_info[:2]))
    return f"it is not Python as {version} reads it: {said}"
