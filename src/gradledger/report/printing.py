"""One line of text, on whatever stream there is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def put(text: str, stream: TextIO) -> None:
    """Prints a line. A letter that the stream's encoding lacks becomes a question mark."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # Not `stream.reconfigure`: it may be the standard output of a script that is being audited.
    print(text.encode(encoding, "replace").decode(encoding), file=stream)
