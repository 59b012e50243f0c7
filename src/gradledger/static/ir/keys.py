"""The names by which code reaches objects."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Keys = frozenset[str]
"""Names of objects, as the code reaches them: `self.netG` is a part of `self`."""
NO_KEYS: Keys = frozenset()


def wholes_of(key: str) -> Iterator[str]:
    """The names of all that this names a part of: `self` and `self.net` of `self.net.weight`."""
    return (key[:place] for place, letter in enumerate(key) if letter in ".[")


def within(key: str, whole: str) -> bool:
    """True if the one names a part of what the other names, or the same."""
    return key == whole or (key.startswith(whole) and key[len(whole)] in ".[")
