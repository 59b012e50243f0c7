"""`[tool.gradledger]` in pyproject.toml: the configuration of a project."""

from __future__ import annotations

import os
from contextlib import suppress

from gradledger.errors import GradledgerError, UnknownRuleError
from gradledger.ledger.values import Value, replace
from gradledger.static.source.files import Trouble, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    Level = Literal["error", "warning", "info"]

NAME = "pyproject.toml"
TABLE = "[tool.gradledger]"
MOST_BYTES = 500_000
"""A larger pyproject.toml is not read."""
_LONG_KEY = rb"(?:[\w\"'-]{1,100}[ \t]*\.[ \t]*){200}"
FAIL_ON: tuple[Level, ...] = ("error", "warning", "info")


class ConfigurationError(GradledgerError):
    """The configuration makes no sense, or can't be read."""


class Configuration(Value):
    """What the file says; what it leaves out is empty or None."""

    path: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, frozenset[str]], ...] = ()
    """Patterns of files, and the codes of the rules to ignore in them."""
    exclude: tuple[str, ...] = ()
    fail_on: Level | None = None
    possible: bool | None = None
    baseline: str | None = None
    """Its path from where we are."""
    run: tuple[tuple[str, object], ...] = ()
    """The options of `gradledger run`, each with its value."""

    @property
    def folder(self) -> str:
        """What its paths and patterns start from."""
        return os.path.dirname(self.path) or "."


def read(path: str) -> Configuration:
    """What the file says. It was named, so it has to have something for us."""
    table = _table(path, _bytes(path))
    if table is None:
        raise ConfigurationError(f"{path} has no {TABLE}. Add it, or leave out --config.")
    return _configuration(path, table)


def nearest(start: str) -> Configuration:
    """That of the nearest pyproject.toml, in the folder of `start` or above, that has any."""
    folder = os.path.abspath(start if os.path.isdir(start) else os.path.dirname(start) or ".")
    while True:
        path = os.path.join(folder, NAME)
        if os.path.isfile(path):
            path = _from_here(path)
            table = _table(path, _bytes(path))
            if table is not None:
                return _configuration(path, table)
        above = os.path.dirname(folder)
        if above == folder:
            return Configuration()
        folder = above


def _from_here(path: str) -> str:
    try:
        return os.path.relpath(path)
    except ValueError:  # another drive
        return path


def _bytes(path: str) -> bytes:
    data = read_bytes(path)
    if isinstance(data, Trouble):
        raise ConfigurationError(f"{path} can't be read: {data.reason}.")
    return data


def _table(path: str, data: bytes) -> Mapping[str, Any] | None:
    # A look at the bytes first: the parser takes longer to load than most files to check.
    if b"gradledger" not in data:
        return None
    if len(data) > MOST_BYTES:
        raise ConfigurationError(f"{path} can't be read: it has more than {MOST_BYTES:,} bytes.")
    try:
        said = None if _has_long_key(data) else _parser(path).loads(data.decode("utf-8"))
    except ValueError as error:
        raise ConfigurationError(f"{path} is no TOML: {error}.") from None
    except RecursionError:
        said = None
    if said is None:
        raise ConfigurationError(f"{path} can't be read: it is nested too deeply.")
    tool = said.get("tool", {})
    table = tool.get("gradledger") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigurationError(f"{path}: gradledger must be a table, {TABLE}.")
    return table


def _has_long_key(data: bytes) -> bool:
    """Whether there is a key of 200 parts: tomllib takes time with the square of their number."""
    import re

    return data.count(b".") >= 200 and re.search(_LONG_KEY, data) is not None


def _parser(path: str) -> Any:
    from importlib import import_module

    for name in ("tomllib", "tomli"):
        with suppress(ImportError):
            return import_module(name)
    raise ConfigurationError(
        f"to read {path}, Python 3.10 needs tomli, which is not installed here: pip install tomli"
    )


def _configuration(path: str, table: Mapping[str, Any]) -> Configuration:
    found: dict[str, Any] = {"path": path}
    for key, value in table.items():
        if key not in _KEYS:
            raise ConfigurationError(f"{path}: {TABLE} has no key {key!r}. {_nearest(key)}")
        found[key.replace("-", "_")] = _KEYS[key](value, f"{path}: {key} in {TABLE}")
    said = Configuration(**found)
    if said.baseline is not None:
        path = os.path.join(said.folder, said.baseline)
        said = replace(said, baseline=os.path.normpath(path))
    return said


def _nearest(key: str) -> str:
    from difflib import get_close_matches  # only for mistakes: it costs some time to load

    near = get_close_matches(key.replace("_", "-"), _KEYS, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(_KEYS)}."


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigurationError(f'{what} must be a list of strings, as in ["one"], got {value!r}.')
    return tuple(value)


def _rules(value: Any, what: str) -> tuple[str, ...]:
    texts = _texts(value, what)
    _codes(texts, what)
    return texts


def _codes(texts: tuple[str, ...], what: str) -> frozenset[str]:
    from gradledger.rules.selection import codes

    try:
        return codes(select=texts) if texts else frozenset()
    except UnknownRuleError as error:
        raise ConfigurationError(f"{what}: {error}") from None


def _per_file(value: Any, what: str) -> tuple[tuple[str, frozenset[str]], ...]:
    if not isinstance(value, dict):
        raise ConfigurationError(
            f'{what} must be a table of patterns, as in {{"tests/**" = ["GL203"]}}, got {value!r}.'
        )
    return tuple(
        (pattern, _codes(_texts(rules, f"{what}, {pattern!r}"), f"{what}, {pattern!r}"))
        for pattern, rules in value.items()
    )


def _level(value: Any, what: str) -> Level:
    for level in FAIL_ON:
        if value == level:
            return level
    raise ConfigurationError(f"{what} must be one of {', '.join(FAIL_ON)}, got {value!r}.")


def _flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigurationError(f"{what} must be true or false, got {value!r}.")
    return value


def _run(value: Any, what: str) -> tuple[tuple[str, object], ...]:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{what} must be a table, [tool.gradledger.run], got {value!r}.")
    return tuple(value.items())


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ConfigurationError(f"{what} must be a string, got {value!r}.")
    return value


_KEYS: dict[str, Callable[[Any, str], Any]] = {
    "select": _rules,
    "ignore": _rules,
    "per-file-ignores": _per_file,
    "exclude": _texts,
    "fail-on": _level,
    "possible": _flag,
    "baseline": _text,
    "run": _run,
}
"""Every key, and how its value is read."""
