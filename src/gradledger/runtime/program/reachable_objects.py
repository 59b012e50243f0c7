"""Everything that variables hold, found without running any code of the program.

Only exact facts of the interpreter are read: items of builtin containers (by their own methods, so
that a subclass is not asked), real `__dict__`s and slots, closures, defaults, frames of generators.
No property, `__getattr__`, `__iter__` or lazy mapping is ever called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from time import monotonic
from types import (
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from torch import Tensor, nn

from gradledger.runtime.program.variables import variables

MOST_OBJECTS = 200_000
DEEPEST = 10
END_PIECE = 100
"""Items at each end of a long container that are looked at, unless those are tensors."""
MOST_ITEMS = 20_000
SECONDS = 0.5

_DEAD_ENDS = (str, bytes, bytearray, int, float, complex, type(None), ModuleType, CodeType)
_mro: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_names: Callable[[type], MappingProxyType[str, Any]] = type.__dict__["__dict__"].__get__


class Scope:
    """The function or the file that a variable belongs to."""

    def __init__(self, path: str, code: CodeType | None) -> None:
        self.path = path
        self.code = code
        """None for the variables of a module."""


class Held:
    """A value, and the way to it: `history["loss"][3]`."""

    __slots__ = ("depth", "holder", "key", "owner", "scope", "value")

    def __init__(
        self, value: object, scope: Scope, holder: str, key: str, owner: type | None, depth: int
    ) -> None:
        self.value = value
        self.scope = scope
        self.holder = holder
        """The variable or the attribute that it is in, without subscripts: `history`."""
        self.key = key
        """The constant key that follows: `["loss"]`."""
        self.owner = owner
        """The class of the object whose attribute that is."""
        self.depth = depth


class Reach:
    """A walk through what variables hold, the nearest first; each but tensors and modules once."""

    def __init__(self, is_users: Callable[[CodeType], bool]) -> None:
        self._is_users = is_users
        self._until = monotonic() + SECONDS
        self._waiting: deque[Held] = deque()
        self._met: dict[int, object] = {}
        """Kept alive while it walks, so that no identity is used twice."""
        self.cut = False
        """Not everything could be looked at: there was too much of it."""

    def add(self, scope: Scope, space: Mapping[str, object]) -> None:
        """Start from these variables, too."""
        for name, value in dict(space).items():
            if not name.startswith("__"):
                self._waiting.append(Held(value, scope, name, "", None, 0))

    def __iter__(self) -> Iterator[Held]:
        waiting, met, looked = self._waiting, self._met, 0
        while waiting:
            held = waiting.popleft()
            looked += 1
            if looked > MOST_OBJECTS or (looked % 256 == 0 and monotonic() > self._until):
                self.cut = True
                return
            if is_a(held.value, Tensor):
                yield held  # whatever else holds it
            elif id(held.value) in met and is_a(held.value, nn.Module):
                yield held
            elif id(held.value) not in met and not is_a(held.value, *_DEAD_ENDS):
                met[id(held.value)] = held.value
                yield held
                if held.depth < DEEPEST:
                    waiting.extend(self._inside(held))

    def _inside(self, held: Held) -> Iterator[Held]:
        value: Any = held.value
        kind = type(value)
        if is_a(value, dict):
            yield from (_item(held, key, part) for key, part in _taken(dict.items(value)))
        elif is_a(value, list, tuple, set, frozenset, deque):
            bounded = is_a(value, deque) and deque.maxlen.__get__(value) is not None
            if not bounded:  # it forgets by itself
                yield from (_item(held, None, part) for part in _some_of(value))
        elif kind is FunctionType:
            yield from self._of_function(held, value)
        elif kind is MethodType:
            yield from (_item(held, None, part) for part in (value.__self__, value.__func__))
        elif kind is GeneratorType:
            if value.gi_frame is not None and self._is_users(value.gi_code):
                yield from _of_scope(held, value.gi_code, variables(value.gi_frame))
        elif kind is partial:
            yield from (_item(held, None, p) for p in (value.func, value.args, value.keywords))
        elif kind is CellType:
            yield from _contents(held, held.holder, value)
        if is_a(value, type):
            if self._is_users_class(value):
                yield from _attributes(held, _names(value), value)
        else:
            yield from _attributes(held, attributes(value), kind)

    def _of_function(self, held: Held, function: FunctionType) -> Iterator[Held]:
        code = function.__code__
        if not self._is_users(code):
            return
        names = code.co_varnames[: code.co_argcount]
        defaults = function.__defaults__ or ()
        space = dict(zip(names[len(names) - len(defaults) :], defaults, strict=False))
        yield from _of_scope(held, code, space | (function.__kwdefaults__ or {}))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            inside = Held(cell, Scope(code.co_filename, code), name, "", None, held.depth)
            yield from _contents(inside, name, cell)

    def _is_users_class(self, kind: type) -> bool:
        functions = (part for part in _names(kind).copy().values() if type(part) is FunctionType)
        first = next(functions, None)
        return first is None or self._is_users(first.__code__)


def attributes(value: object) -> dict[str, object]:
    """What an object's real `__dict__` and slots hold."""
    found: dict[str, object] = {}
    for kind in _mro(type(value)):
        for name, part in _names(kind).copy().items():
            if type(part) is MemberDescriptorType and not name.startswith("__"):
                if kind.__flags__ & _MADE_IN_PYTHON and _is_slot(kind, name):
                    try:
                        found.setdefault(name, part.__get__(value))
                    except AttributeError:  # nothing in it
                        continue
            elif name == "__dict__" and _is_plain_dict(part):
                own = part.__get__(value)
                if type(own) is dict:
                    found |= {n: p for n, p in own.copy().items() if type(n) is str}
    return found


_MADE_IN_PYTHON = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: the only classes that have slots of their program's own."""


def _is_slot(kind: type, name: str) -> bool:
    slots = _names(kind).get("__slots__", ())
    return name == slots or (type(slots) in (tuple, list) and name in slots)


def _is_plain_dict(part: object) -> bool:
    """Whether it is Python's own `__dict__`: that of a proxy (wrapt) calls what it stands for."""
    said = part.__doc__ if type(part) is GetSetDescriptorType else None
    return said is not None and said.startswith("dictionary for instance variables")


def is_a(value: object, *kinds: type) -> bool:
    """Whether it is one of these, whatever it says that it is."""
    line = _mro(type(value))
    return any(kind in line for kind in kinds)


def _some_of(value: Any) -> list[Any]:
    kind = next(k for k in (list, tuple, set, frozenset, deque) if k in _mro(type(value)))
    length, items = kind.__len__(value), kind.__iter__(value)
    if length <= 2 * END_PIECE:
        return list(items)
    if kind in (list, tuple):
        ends = [kind.__getitem__(value, i) for i in (*range(END_PIECE), *range(-END_PIECE, 0))]
        if not any(is_a(end, Tensor, dict, tuple, list) for end in ends):
            return ends
    return _taken(items)


def _taken(items: Any) -> list[Any]:
    try:
        return list(islice(items, MOST_ITEMS))
    except RuntimeError:  # another thread, or the garbage collector, has changed it meanwhile
        return []


def _item(held: Held, key: object, part: object) -> Held:
    named = held.key or (f'["{key}"]' if type(key) is str else "")
    if held.key == "" and type(key) is not str:
        named = "[]"  # from here on, by number
    return Held(part, held.scope, held.holder, named, held.owner, held.depth + 1)


_ASIDE = ("_modules", "_parameters", "_buffers")
"""Where an `nn.Module` keeps what the program calls its attributes."""


def _attributes(held: Held, found: Mapping[str, object], owner: type) -> Iterator[Held]:
    path = held.holder + (held.key if held.key != "[]" else "[…]")
    for name, part in dict(found).items():
        if name in _ASIDE and is_a(part, dict):
            items: Any = part
            inner = {key: each for key, each in _taken(dict.items(items)) if type(key) is str}
            yield from _attributes(held, inner, owner)
        else:
            yield Held(part, held.scope, f"{path}.{name}", "", owner, held.depth + 1)


def _of_scope(held: Held, code: CodeType, space: Mapping[str, object]) -> Iterator[Held]:
    scope = Scope(code.co_filename, code)
    for name, part in space.items():
        yield Held(part, scope, name, "", None, held.depth + 1)


def _contents(held: Held, name: str, cell: CellType) -> Iterator[Held]:
    try:
        inside = cell.cell_contents
    except ValueError:  # not bound yet
        return
    yield Held(inside, held.scope, name, "", None, held.depth + 1)
