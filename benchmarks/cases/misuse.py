"""Row k: mistakes of the user, which a trainer may tell, make harmless, or say nothing about."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.nn.functional import mse_loss

from benchmarks.cases import Case, chunks, distance, exact, judged, micro_batches, work
from benchmarks.cases.windows import sentences, tokens_loss
from benchmarks.results import Cell
from benchmarks.tasks import flat
from benchmarks.trainers import Trainer, Work

SECOND = 2


def rightly_used() -> Work:
    return work(micro_batches(*[4] * 8))


def cleared() -> Work:
    return work(micro_batches(*[4] * 8), meddle=_second("zero_grad"))


def stepped() -> Work:
    return work(micro_batches(*[4] * 8), meddle=_second("step"))


def _second(call: str) -> Callable[[int, Any], None]:
    def meddle(count: int, optimizer: Any) -> None:
        if count == SECOND:
            getattr(optimizer, call)()

    return meddle


def without_graph() -> Work:
    return work(micro_batches(*[4] * 8), criterion=_spoilt(lambda loss: loss.detach()))


def of_wrong_shape() -> Work:
    return work(micro_batches(*[4] * 8), criterion=_spoilt(lambda loss: loss.expand(4)))


def gone_back_by_hand() -> Work:
    def twice(loss: Tensor) -> Tensor:
        loss.backward(retain_graph=True)
        return loss

    return work(micro_batches(*[4] * 8), criterion=_spoilt(twice))


def _spoilt(spoil: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """The second loss is not what it should be."""
    calls = 0

    def criterion(prediction: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        nonlocal calls
        calls += 1
        loss = mse_loss(prediction, y, reduction=reduction)
        return spoil(loss) if calls == SECOND else loss

    return criterion


def without_items() -> Work:
    return work(sentences(*VALID), criterion=tokens_loss)


VALID = (8, 0, 8, 8, 8, 8, 8, 8)


def measure(make: Callable[[], Work], trainer: Trainer) -> Cell:
    usual = _warnings(trainer, rightly_used())
    job, big = make(), make() if make is without_items else rightly_used()
    start = flat(big.model).clone()
    right = exact(big, chunks(list(big.data)))
    try:
        told = _warnings(trainer, job) - usual
    except Exception as error:
        said = str(error).strip().splitlines()
        return Cell(f"raises {type(error).__name__}", True, how=said[0] if said else "")
    if told:
        return Cell("warns", True, how=min(told))
    cell = judged(distance(flat(job.model), right, start))
    if cell.good:
        return Cell("does no harm", True, cell.value)
    return Cell(f"silent, {cell.verdict}", False, cell.value)


def _warnings(trainer: Trainer, job: Work) -> set[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trainer.train(job)
    return {str(each.message) for each in caught}


def _case(meaning: str, make: Callable[[], Work]) -> Case:
    return Case(meaning, "train", lambda trainer: measure(make, trainer))


CASES = {
    "k1": _case("optimizer.zero_grad() by the user inside a window", cleared),
    "k2": _case("optimizer.step() by the user inside a window", stepped),
    "k3": _case("a loss with no graph", without_graph),
    "k4": _case("a loss that is no scalar", of_wrong_shape),
    "k5": _case("loss.backward() by the user, besides the trainer's", gone_back_by_hand),
    "k6": _case("a micro-batch with no items", without_items),
}
