"""`release="eager"`: each gradient is spent as it arrives, and freed, while backward goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite, sqrt
from weakref import ref

import torch
from torch import Tensor, optim
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from gradledger.engine.guards import Guard
from gradledger.engine.options import Options
from gradledger.engine.ownership import Group, Ownership
from gradledger.engine.packable import ELEMENTWISE, LOW_PRECISION
from gradledger.errors import NonFiniteGradient, OptionError, TornUpdateError
from gradledger.ledger.announcing import listeners

ONE_BY_ONE = ELEMENTWISE | {
    getattr(optim, name)
    for name in ("Adafactor", "SparseAdam", "Muon")  # not each torch has all of them
    if hasattr(optim, name)
}
"""What happens to a parameter depends on that parameter alone."""


class EagerRelease:
    """Hooks on the parameters of the optimizers, which act while `spending` and not otherwise."""

    def __init__(
        self, ownership: Ownership, guards: dict[Optimizer, Guard], options: Options
    ) -> None:
        self._ownership = ownership
        self._guards = guards
        self._options = options
        self._hooked: dict[int, RemovableHandle] = {}
        """By id. Whose it is, the hook's own number says: ids are given out again."""
        self._homes: dict[int, tuple[Optimizer, Group]] = {}
        self._active = False
        self.moved: list[Tensor] = []
        """The parameters that the last backward updated."""
        self._squares = 0.0
        self.norm: float | None = None

    def backward(self, loss: Tensor, inputs: list[Tensor], *, retain_graph: bool) -> None:
        """Walks back and spends on the way."""
        self._hook(inputs)
        self.moved, self._squares = [], 0.0
        try:
            with self._one_at_a_time():
                torch.autograd.backward((loss,), retain_graph=retain_graph, inputs=inputs)
                self._spend_unhooked(inputs)
        except BaseException as error:
            self._ownership.clear()
            if self.moved:
                raise TornUpdateError(
                    f"backward failed after {len(self.moved)} parameters had been updated, and "
                    'with release="eager" that can\'t be undone: go back to a checkpoint. Cause: '
                    f"{type(error).__name__}: {error}"
                ) from error
            raise
        self.norm = sqrt(self._squares) if self._options.guarded else None

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Inside, the optimizers hold no parameters but the one that is being spent."""
        groups = [group for _, group in self._ownership.groups()]
        held = [group["params"] for group in groups]
        for group in groups:
            group["params"] = []
        self._active = True
        try:
            yield
        finally:
            self._active = False
            for group, params in zip(groups, held, strict=True):
                group["params"] = params

    def _spend_unhooked(self, inputs: list[Tensor]) -> None:
        """Those whose hook torch has lost: it does when it swaps the contents of tensors."""
        for p in inputs:
            if p.grad is not None:
                self._spend(p)
                del self._hooked[id(p)]
                # Or a new one would not be called, either.
                p._post_accumulate_grad_hooks = None  # type: ignore[assignment]

    def _spend(self, p: Tensor) -> None:
        if not self._active or p.grad is None:
            return
        if p.grad.layout is not torch.strided:
            p.grad = p.grad.coalesce()
        values = p.grad if p.grad.layout is torch.strided else p.grad._values()
        self._check(p, values)
        optimizer, group = self._homes[id(p)]
        for listener in listeners:
            if listener.measures:
                listener.spends(optimizer, {p: p.grad}, 1.0)
        if self._options.clip_value is not None:
            values.clamp_(-self._options.clip_value, self._options.clip_value)
        group["params"] = [p]
        try:
            with self._guards[optimizer]:
                optimizer.step()
        finally:
            group["params"] = []
        self.moved.append(p)
        p.grad = None

    def _check(self, p: Tensor, values: Tensor) -> None:
        if not self._options.guarded:
            return
        wide = torch.float32 if values.dtype in LOW_PRECISION else None
        norm = float(torch.linalg.vector_norm(values, dtype=wide))
        if not isfinite(norm) and not torch.isfinite(values).all():
            name = self._ownership.names()[id(p)]
            raise NonFiniteGradient(f"the gradient of {name} is not finite (NaN or Inf).")
        self._squares += norm * norm

    def _hook(self, inputs: list[Tensor]) -> None:
        self._homes = {
            id(p): (optimizer, group)
            for optimizer, group in self._ownership.groups()
            for p in group["params"]
        }
        me = ref(self)

        def spend(p: Tensor) -> None:
            release = me()
            if release is not None:
                release._spend(p)

        for p in inputs:
            # No weak reference: torch would not swap the contents of a tensor that has one.
            hooked = self._hooked.get(id(p))
            if hooked is None or hooked.id not in (p._post_accumulate_grad_hooks or ()):
                self._hooked[id(p)] = p.register_post_accumulate_grad_hook(spend)  # type: ignore[no-untyped-call]


def check_eager(options: Options, optimizers: tuple[Optimizer, ...], *, scaled: bool) -> None:
    """Raises OptionError where spending early could not be exact."""
    why = None
    if options.accumulate > 1:
        why = f"accumulate={options.accumulate} adds gradients up before any of them is spent"
    elif options.clip_norm is not None:
        why = "clip_norm needs all gradients before any of them is spent (clip_value does not)"
    elif scaled:
        why = "a GradScaler looks at all gradients before any of them is spent"
    elif options.on_nonfinite == "skip":
        why = "an update can't be skipped half way: choose on_nonfinite='raise' or 'allow'"
    else:
        for optimizer in optimizers:
            if type(optimizer) not in ONE_BY_ONE:
                kind = type(optimizer).__name__
                why = f"{kind} is not known to treat every parameter by itself"
    if why:
        raise OptionError(f'release="eager" can\'t be exact here: {why}.')
