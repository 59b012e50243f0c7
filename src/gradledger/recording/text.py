"""Text as SQLite can hold it."""

from __future__ import annotations


def to_sql(text: str) -> str | bytes:
    """The text itself, or bytes where it can't be UTF-8: file names may hold any byte."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_sql(stored: str | bytes) -> str:
    """What `to_sql` was given."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")
