"""Conditions in words that a person would use, and what the file's defaults answer to them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache

from gradledger.ledger.tuples import NamedTuple
from gradledger.static.ir.condition_names import size_of
from gradledger.static.lower.option_defaults import Stated, stated_defaults, stated_sizes
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

_SCOPES = Pattern(r"[^\s(),\[\]'\"]*#\d+:")
"""In front of a name: the call, or the object, that it belongs to."""
_NUMBERS = Pattern(r"#\d+")
"""Behind the class of an object that was made in sight."""

_GIVEN = " is given"
_COMPARISONS: dict[str, tuple[str, str, Callable[[object, object], object]]] = {
    " Eq ": ("==", "!=", operator.eq),
    " GtE ": (">=", "<", operator.ge),  # type: ignore[dict-item]
    " Gt ": (">", "<=", operator.gt),  # type: ignore[dict-item]
    " LtE ": ("<=", ">", operator.le),  # type: ignore[dict-item]
    " Lt ": ("<", ">=", operator.lt),  # type: ignore[dict-item]
}
"""As they are named, as they are written, and as they are written where they do not hold."""


class Asked(NamedTuple):
    """A condition, taken apart."""

    subject: str
    """What is asked about, as the code calls it."""
    how: str = ""
    """Empty: whether it is true. Else ` is given`, or one of the comparisons."""
    other: str = ""
    """What it is compared with."""


def asked(condition: str) -> Asked:
    """What a condition asks, without the scopes of its names."""
    text = plain(condition)
    if text.endswith(_GIVEN):
        return Asked(text.removesuffix(_GIVEN), _GIVEN)
    for how in _COMPARISONS:
        subject, found, other = text.partition(how)
        if found:
            return Asked(subject, how, other)
    return Asked(text)


@lru_cache(maxsize=1024)
def plain(name: str) -> str:
    """A name as the code has it."""
    return _NUMBERS.sub("", _SCOPES.sub("", name))


def worded(condition: str, answer: bool, called: str = "") -> str:
    """`--fp16` on, `args.clip > 0`, `scaler` given: the condition with this answer.

    `called` is what a person sets the option by.
    """
    subject, how, other = asked(condition)
    subject = called or subject
    if how == _GIVEN:
        return f"`{subject}` given" if answer else f"`{subject}` left at None"
    if how:
        holds, fails, _ = _COMPARISONS[how]
        return f"`{subject} {holds if answer else fails} {other}`"
    if subject.isascii() and subject.replace(".", "").replace("-", "").replace("_", "").isalnum():
        return f"`{subject}` {'on' if answer else 'off'}"
    return f"`{subject}` {'true' if answer else 'false'}"


class Defaults:
    """What the options of a file are for those who say nothing."""

    def __init__(self, module: Module | None) -> None:
        self._module = module
        self._known: dict[str, Stated | None] = {}
        self._sizes: dict[str, Stated | None] = {}

    def of(self, name: str) -> Stated | None:
        """The default of an option, where the file states one, and only one."""
        name = plain(name).rpartition(".")[2]
        if name not in self._known:
            self._known[name] = self._look(name)
        return self._known[name]

    def of_window(self, size: str) -> Stated | None:
        """What windows of this size have, where the file states one number, and only one."""
        size = size_of(plain(size))
        if self._module is None or not size.isidentifier():
            return None
        if size not in self._sizes:
            stated = list(stated_sizes(size, self._module))
            values = {repr(one.value) for one in stated}
            self._sizes[size] = stated[0] if len(values) == 1 else None
        return self._sizes[size]

    def _look(self, name: str) -> Stated | None:
        if self._module is None or not name.isidentifier():
            return None
        stated = list(stated_defaults(name, self._module))
        values = {repr(one.value) for one in stated}
        return stated[0] if len(values) == 1 else None

    def answer(self, condition: str) -> tuple[bool, Stated] | None:
        """What the condition comes to by default; None where the file does not say."""
        subject, how, other = asked(condition)
        stated = self.of(subject)
        if stated is None:
            return None
        if how == _GIVEN:
            return stated.value is not None, stated
        if not how:
            return bool(stated.value), stated
        try:
            return bool(_COMPARISONS[how][2](stated.value, ast.literal_eval(other))), stated
        except (ValueError, SyntaxError, TypeError):
            return None


def default_told(stated: Stated) -> str:
    """`it is off by default`, `its default is 1`."""
    if stated.is_literal:
        return f"it is {stated.value!r} on line {stated.at.line}"
    if isinstance(stated.value, bool):
        return f"it is {'on' if stated.value else 'off'} by default"
    return f"its default is {stated.value!r}"
