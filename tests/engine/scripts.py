"""Scripts: calls of a Stepper in any order, and a loop that makes them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn, optim
from torch.amp import GradScaler
from torch.optim.lr_scheduler import StepLR

from gradledger import Stepper

from .loops import Batch, Boom

LOSSES = ("backward", "more", "run", "fail", "forward")


class Data:
    """Batches with noise of torch's; some can't be drawn, and one draw can be interrupted."""

    def __init__(self, batches: int, bad: set[int]) -> None:
        self._batches = batches
        self._bad = bad
        self.interrupted = False

    def __len__(self) -> int:
        return self._batches

    def __iter__(self) -> Iterator[Batch]:
        return _Draws(self)


class _Draws:
    """Goes on after an exception, as a DataLoader does."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._next = 0

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        data, i = self._data, self._next
        self._next += i < len(data)
        x = torch.randn(3 + i % 2, 5, dtype=torch.float64)
        if data.interrupted:
            data.interrupted = False
            raise KeyboardInterrupt
        if i == len(data):
            raise StopIteration
        if i in data._bad:
            raise Boom
        return x, torch.full((len(x), 3), float(i), dtype=torch.float64)


class Loop:
    """A loop that makes the calls of a script."""

    def __init__(
        self,
        options: dict[str, Any],
        seed: int,
        spread: Callable[[nn.Module], nn.Module] = lambda model: model,
    ) -> None:
        torch.manual_seed(seed)
        self.model = spread(
            nn.Sequential(nn.Linear(5, 7), nn.Dropout(0.3), nn.Linear(7, 3)).double()
        )
        self.optimizer = options["optimizer"](self.model.parameters())
        scheduler = StepLR(self.optimizer, 2, 0.5)
        scaler = GradScaler("cpu", init_scale=4.0) if options["scaled"] else None
        self.data = Data(options["batches"], options["bad"])
        self.stepper = Stepper(
            self.model,
            self.optimizer,
            accumulate=options["accumulate"],
            on_fault=options["on_fault"],
            pack=options["pack"],
            scheduler=scheduler,
            scaler=scaler,
        )
        self.batches: Any = None
        self.batch: Batch | None = None
        """Drawn, and without a loss as yet."""
        self.turn: list[str] = []
        """What was done with it, and has to be done again if it is drawn again."""

    def loss(self, batch: Batch) -> Tensor:
        x, y = batch
        loss: Tensor = (self.model(x) - y).square().mean()
        return loss

    def call(self, what: str) -> None:
        """One call. Faults are caught, as a loop would that goes on without a batch."""
        if what == "over":
            self.batches = self.stepper.over(self.data)
            self.batch = None
        elif what == "draw":
            self.draw()
        elif what == "flush":
            self.stepper.flush()
            self.turn += ["dead"] if "more" in self.turn else []
        elif what == "drop":
            self.stepper.drop()
            self.batch = None
        elif self.batch is not None and what in LOSSES and "dead" not in self.turn:
            self.deposit(what, self.batch)

    def draw(self) -> None:
        self.batch, self.turn = None, []
        if self.batches is None:
            self.batches = self.stepper.over(self.data)
        try:
            self.batch = next(self.batches)
        except StopIteration:
            self.batches = None
        except Boom:
            pass

    def deposit(self, what: str, batch: Batch, error: BaseException | None = None) -> None:
        items = len(batch[0])
        if what == "run" and "more" not in self.turn:
            self.stepper.run(batch, lambda _: (self.loss(batch), items))
            self.batch = None
            return
        loss = self.loss(batch)
        if what == "fail" or error is not None:
            loss.register_hook(_raising(error or Boom()))  # type: ignore[no-untyped-call]
        self.turn.append(what)
        if what == "forward":
            return
        try:
            self.stepper.backward(loss, items=items, more=what == "more")
        except Boom:
            self.turn += ["dead"] if "more" in self.turn else []
        else:  # also what would have failed, where its window is dropped already
            self.batch = self.batch if what == "more" else None

    def interrupted(self, following: str, path: Path) -> None:
        """Ctrl-C in what comes next, and a save in its handler."""
        try:
            if following == "draw":
                self.data.interrupted = True
                self.draw()
            elif self.batch is not None and following in LOSSES and self.walks_back():
                self.deposit("backward", self.batch, KeyboardInterrupt())
        except KeyboardInterrupt:
            pass
        self.data.interrupted = False
        self.stepper.save(path)

    def walks_back(self) -> bool:
        return "dead" not in self.turn and not self.stepper._cycle.window.dropped

    def go_on(self, path: Path, before: Loop) -> None:
        """Loads, and stands where the other stood: a batch without a loss is drawn once more."""
        self.stepper.load(path)
        self.batch, self.turn = None, []
        self.batches = None if before.batches is None else self.stepper.over(self.data)
        if before.batch is not None:
            self.batch = next(self.batches)
            for what in before.turn:
                self.call(what)
            self.turn = list(before.turn)

    def outcome(self) -> dict[str, Any]:
        stepper = self.stepper
        stepper.flush()
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "counts": [stepper.updates, stepper.dropped, stepper.skipped, stepper.epoch],
        }


def _raising(error: BaseException) -> Any:
    def fail(_: Tensor) -> None:
        raise error

    return fail


def script(chance: random.Random) -> list[str]:
    """What a loop does, turn by turn."""
    calls: list[str] = []
    for _ in range(chance.randrange(4, 12)):
        calls.append("over" if chance.random() < 0.05 else "draw")
        losses = chance.choice(
            [
                ["backward"],
                ["backward"],
                ["run"],
                ["more", "backward"],
                ["fail"],
                ["more", "fail"],
                ["fail", "backward"],
                ["forward"],
                [],
            ]
        )
        for what in [*losses, None]:
            while chance.random() < 0.2:
                calls.append(chance.choice(["flush", "drop", "save", "save"]))
            calls += [what] if what else []
    return calls


def make_options(chance: random.Random) -> dict[str, Any]:
    kinds = [
        lambda p: optim.SGD(p, 0.1, momentum=0.9),
        lambda p: optim.AdamW(p, 0.1),
        lambda p: optim.SGD(p, 0.1),
    ]
    batches = chance.randrange(1, 7)
    return {
        "optimizer": chance.choice(kinds),
        "scaled": chance.random() < 0.3,
        "accumulate": chance.randrange(1, 5),
        "on_fault": chance.choice(["continue", "drop"]),
        "pack": chance.random() < 0.5,
        "batches": batches,
        "bad": {i for i in range(batches) if chance.random() < 0.1},
    }
