"""The options of a Stepper, validated when it is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, get_args

from torch import Tensor

from gradledger.errors import OptionError

OnFault = Literal["continue", "drop"]
OnNonFinite = Literal["skip", "raise", "allow"]
Release = Literal["window", "eager"]
Doubt = Literal["divided", "scaled", "factors", "items", "eval", "unowned"]
ClipNorm: TypeAlias = "float | Sequence[float | None] | None"


@dataclass(frozen=True)
class Options:
    """How windows are made and spent. Any combination that exists here can be kept."""

    accumulate: int
    clip_norm: ClipNorm
    clip_value: float | None
    on_fault: OnFault
    on_nonfinite: OnNonFinite
    pack: bool
    release: Release
    allow: Sequence[Doubt] = ()

    def __post_init__(self) -> None:
        _check_count(self.accumulate)
        _check_choice("pack", self.pack, (True, False))
        _check_choice("on_fault", self.on_fault, get_args(OnFault))
        _check_choice("on_nonfinite", self.on_nonfinite, get_args(OnNonFinite))
        _check_choice("release", self.release, get_args(Release))
        if not isinstance(self.allow, list | tuple | set | frozenset):
            raise OptionError(f"allow must be a list, as in allow=['divided'], got {self.allow!r}.")
        for each in self.allow:
            _check_choice("each of allow", each, get_args(Doubt))
        if self.clip_norm is not None and self.clip_value is not None:
            raise OptionError(
                "clip_norm and clip_value can't both be given: after one, the other's limit means "
                "something else. Choose one."
            )
        norms = self.clip_norm if isinstance(self.clip_norm, Sequence) else [self.clip_norm]
        for norm in norms:
            _check_limit("clip_norm", norm)
        _check_limit("clip_value", self.clip_value)
        # Numbers of NumPy's and torch's are taken as what they are worth now.
        set_ = object.__setattr__
        set_(self, "accumulate", int(self.accumulate))
        if isinstance(self.clip_norm, Sequence):
            set_(self, "clip_norm", [norm if norm is None else float(norm) for norm in norms])
        elif self.clip_norm is not None:
            set_(self, "clip_norm", float(self.clip_norm))
        if self.clip_value is not None:
            set_(self, "clip_value", float(self.clip_value))

    @property
    def guarded(self) -> bool:
        """Whether every window is looked at for NaN and Inf before it is spent."""
        return self.on_nonfinite != "allow"

    def check_groups(self, groups: int) -> None:
        """Raises OptionError unless a list of norms has one for each param group."""
        if isinstance(self.clip_norm, Sequence) and len(self.clip_norm) != groups:
            raise OptionError(
                f"clip_norm lists {len(self.clip_norm)} norms, and the optimizers have {groups} "
                "param groups. Give one for each (None: not clipped), or one number for all."
            )


_ELSEWHERE = {
    "gradient_accumulation_steps": "accumulate",
    "accumulation_steps": "accumulate",
    "accumulate_grad_batches": "accumulate",
    "max_grad_norm": "clip_norm",
    "max_norm": "clip_norm",
    "gradient_clip_val": "clip_norm",
    "lr_scheduler": "scheduler",
}
"""What other libraries call it."""


def check_names(unknown: Iterable[str], known: Iterable[str]) -> None:
    """Raises OptionError for a keyword that there is not, with the one that was probably meant."""
    for name in unknown:
        near = _ELSEWHERE.get(name) or next(iter(get_close_matches(name, known, 1, 0.5)), None)
        hint = f"Did you mean {near}?" if near else f"There are {', '.join(known)}."
        raise OptionError(f"Stepper has no option {name!r}. {hint}")


def _check_count(accumulate: Any) -> None:
    if isinstance(accumulate, bool) or not isinstance(accumulate, Integral) or int(accumulate) < 1:
        raise OptionError(
            f"accumulate must be a whole number, at least 1, got {accumulate!r}. To update on "
            "every batch, leave it at 1."
        )


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        offered = ", ".join(repr(choice) for choice in choices)
        raise OptionError(f"{name} must be one of {offered}, got {value!r}.")


def _check_limit(name: str, limit: Any) -> None:
    if limit is None:
        return
    if isinstance(limit, Tensor) and limit.numel() == 1:
        limit = limit.item()
    if (
        isinstance(limit, bool)
        or not isinstance(limit, Real)
        or not isfinite(limit)
        or float(limit) <= 0
    ):
        raise OptionError(
            f"{name} must be a positive number, got {limit!r}. Not to clip, leave it at None."
        )
