"""The loop with a Stepper."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from benchmarks.trainers import Batch, Pair, Work, items
from gradledger import Stepper
from gradledger.engine.passes import Pass


class WithStepper:
    """As docs/stepper.md says."""

    how: ClassVar[dict[str, str]] = {
        "train": "stepper.backward(loss, items=…) in stepper.over(data), with its defaults "
        "(docs/stepper.md)",
        "catch": "try around forward and backward; after a fault of the data `for` over the same "
        "pass again (docs/stepper.md, 'What it does')",
        "save": "stepper.save and stepper.load (docs/stepper.md, 'What it does')",
        "two": "a Stepper for each net, with one pass around the other's (docs/stepper.md, "
        "'Several nets, several optimizers')",
    }

    def train(self, work: Work) -> None:
        stepper = _stepper(work)
        batches = stepper.over(work.data)
        while not _ended(work, stepper, batches):
            pass

    def train_two(self, pair: Pair) -> None:
        critic = Stepper(pair.critic, pair.critic_optimizer, accumulate=pair.window)
        generator = Stepper(pair.generator, pair.generator_optimizer, accumulate=pair.window)
        steppers = {"critic": critic, "generator": generator}
        for noise, real in generator.over(critic.over(pair.data)):
            for who, loss in pair.turns(noise, real):
                steppers[who].backward(loss(), items=len(real))

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        stepper = _stepper(work)
        for i, (x, y) in enumerate(stepper.over(work.data), 1):
            stepper.backward(work.criterion(work.model(x), y), items=items(y))
            if i == count:
                stepper.save(folder / "checkpoint.pt")
                return

    def resume(self, work: Work, folder: Path) -> None:
        stepper = _stepper(work)
        stepper.load(folder / "checkpoint.pt")
        for x, y in stepper.over(work.data):
            stepper.backward(work.criterion(work.model(x), y), items=items(y))


def _stepper(work: Work) -> Stepper:
    return Stepper(
        work.model,
        work.optimizer,
        accumulate=work.window,
        clip_norm=work.clip,
        scaler=work.scaler() if work.half else None,
        scheduler=work.scheduler,
    )


def _ended(work: Work, stepper: Stepper, batches: Pass[Batch]) -> bool:
    """Whether the pass came to its end, and not to a fault of the data."""
    count = 0
    try:
        for x, y in batches:
            count += 1
            try:
                with work.autocast():
                    loss = work.criterion(work.model(x), y)
                stepper.backward(loss, items=items(y))
            except work.catches:
                continue
            work.meddle(count, work.optimizer)
    except work.catches:
        return False
    return True
