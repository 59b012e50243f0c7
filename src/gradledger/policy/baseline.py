"""The baseline: findings that already exist, so that a code base can adopt gradledger gradually.

A finding is known by its rule, its file, its function and its line's code, and not by the line's
number, so that it is known again after the code around it has moved.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from gradledger.errors import GradledgerError
from gradledger.static.source.files import Trouble, read_bytes

if TYPE_CHECKING:
    from gradledger.ledger.findings import Finding

VERSION = 1
_FIELDS = ("rule", "path", "function", "code")


class BaselineError(GradledgerError):
    """A baseline can't be read."""


class Entry(NamedTuple):
    """What a finding is known by."""

    rule: str
    path: str
    """From the baseline's own folder, with slashes."""
    function: str
    """Its qualified name; empty outside of any."""
    code: str

    def __str__(self) -> str:
        within = f" in {self.function}" if self.function else ""
        return f"{self.rule} at {self.path}{within}: {self.code}"


Known = Callable[["Finding"], Entry]


class Baseline:
    """Entries, each with how often it was found."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._left = Counter(entries)

    def takes(self, entry: Entry) -> bool:
        """Whether this was there before. Each earlier occurrence covers one finding."""
        if self._left[entry] < 1:
            return False
        self._left[entry] -= 1
        return True

    def stale(self, was_looked_for: Callable[[Entry], bool]) -> list[Entry]:
        """Entries that were looked for, and that match nothing any more."""
        return sorted(entry for entry, n in self._left.items() if n > 0 and was_looked_for(entry))


def read(path: str) -> Baseline:
    """The baseline in the file."""
    import json

    if not os.path.exists(path):
        raise BaselineError(
            f"there is no baseline {path}. --write-baseline makes it from what is found now."
        )
    data = read_bytes(path)
    if isinstance(data, Trouble):
        raise BaselineError(f"the baseline {path} can't be read: {data.reason}.")
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        raise _foreign(path, "it is no JSON") from None
    return Baseline(_entries(said, path))


def written(entries: Iterable[Entry]) -> str:
    """The text of a baseline: sorted, and a line for each fact, so that it merges well."""
    import json

    counts = sorted(Counter(entries).items())
    listed = [{**entry._asdict(), "count": count} for entry, count in counts]
    return json.dumps({"version": VERSION, "findings": listed}, indent=1) + "\n"


def path_from(folder: str, path: str) -> str:
    """How an entry names a file."""
    try:
        way = os.path.relpath(path, folder)
    except ValueError:  # another drive
        way = os.path.abspath(path)
    return way.replace(os.sep, "/")


def _entries(said: Any, path: str) -> list[Entry]:
    version = said.get("version") if isinstance(said, dict) else None
    if version != VERSION:
        raise _foreign(path, f"its version is {version}, and not {VERSION}")
    entries: list[Entry] = []
    listed = said.get("findings")
    for one in listed if isinstance(listed, list) else [None]:
        values = [one.get(field) for field in _FIELDS] if isinstance(one, dict) else [None]
        count = one.get("count", 1) if isinstance(one, dict) else 0
        if not all(isinstance(value, str) for value in values) or not isinstance(count, int):
            raise _foreign(path, "an entry lacks something")
        entries += [Entry(*values)] * min(count, 1_000)
    return entries


def _foreign(path: str, why: str) -> BaselineError:
    return BaselineError(
        f"{path} is no baseline of gradledger: {why}. --write-baseline makes it anew."
    )
