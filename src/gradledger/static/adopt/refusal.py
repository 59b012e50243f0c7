"""Why a loop stays as it is."""

from __future__ import annotations

from gradledger.errors import GradledgerError


class NotAdopted(GradledgerError):
    """The loop isn't rewritten; the message says why, and with which line."""
