"""The names by which code reaches objects."""

from __future__ import annotations

Keys = frozenset[str]
"""Names of objects, as the code reaches them: `self.netG` is a part of `self`."""
NO_KEYS: Keys = frozenset()


def within(key: str, whole: str) -> bool:
    """True if the one names a part of what the other names, or the same."""
    return key == whole or (key.startswith(whole) and key[len(whole)] in ".[")
