"""The error tree: everything that gradledger raises on purpose."""

from __future__ import annotations


class GradledgerError(Exception):
    """Something that a person can act upon. The message says what happened and what to do."""


class MissingTorchError(GradledgerError, ImportError):
    """torch is needed for this, and is not installed."""


class RecordingError(GradledgerError):
    """A recording can't be read."""


class UnknownRuleError(GradledgerError, LookupError):
    """No rule has this code or name."""


class InternalError(RuntimeError):
    """A bug in gradledger itself, never the user's fault. Please report it."""
