"""The error tree: everything that gradledger raises on purpose."""

from __future__ import annotations


class GradledgerError(Exception):
    """Something that a person can act upon. The message says what happened and what to do."""


class MissingTorchError(GradledgerError, ImportError):
    """torch is needed for this, and is not installed."""


class MissingExtraError(GradledgerError, ImportError):
    """A package that an extra brings is needed for this, and is not installed."""


class RecordingError(GradledgerError):
    """A recording can't be read."""


class UnknownRuleError(GradledgerError, LookupError):
    """No rule has this code or name."""


class OptionError(GradledgerError, ValueError):
    """An argument that can't be, alone or together with another."""


class LossError(GradledgerError, ValueError):
    """A loss, or its number of items, from which no gradient can be had."""


class MisuseError(GradledgerError, RuntimeError):
    """A law would be broken: something was done to gradients behind the Stepper's back."""


class NonFiniteGradient(GradledgerError, RuntimeError):
    """A window holds NaN or Inf. It was not spent: weights and moments are as they were."""


class TornUpdateError(GradledgerError, RuntimeError):
    """Some parameters were updated and others were not, and it can't be undone."""


class RankFailure(GradledgerError, RuntimeError):
    """A rank can't go on, so that the others can't either. The message says which, and why."""


class WindowNotEqual(GradledgerError, AssertionError):
    """The gradient of a window is not that of its items in one big batch."""


class LawBroken(GradledgerError, RuntimeError):
    """A law was broken here, while `audit(raise_on=…)` watched. `finding` has the evidence."""

    def __init__(self, message: str, finding: object) -> None:
        super().__init__(message)
        self.finding = finding


class CheckpointError(GradledgerError):
    """A checkpoint can't be written, or can't be read, or does not fit. Nothing was changed."""


class StepperWarning(UserWarning):
    """Something that the Stepper dealt with, and that a person wants to know."""


class InternalError(RuntimeError):
    """A bug in gradledger itself, never the user's fault. Please report it."""
