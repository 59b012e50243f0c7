"""A drawn batch is known again by its data in a loss's graph, whatever it was made of."""
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import itertools
from collections import UserDict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.utils.data import DataLoader, TensorDataset

from gradledger.runtime.audit import Audit, audit
from gradledger.runtime.backward.window_batches import DRAWN_AHEAD
from gradledger.runtime.batches.drawn_batches import MOST_BATCHES, Draw, DrawnBatches

Pair = namedtuple("Pair", ["inputs", "targets"])


@dataclass
class Sample:
    inputs: Tensor
    targets: Tensor


class Stubborn(dict[str, Tensor]):
    """Whoever asks it runs its code."""

    def values(self) -> NoReturn:
        raise AssertionError("asked for its values")

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"asked for its {name}")


def loss_of(inputs: Tensor, targets: Tensor) -> Node:
    loss = nn.functional.mse_loss(nn.Linear(3, 1)(inputs), targets)
    assert loss.grad_fn is not None
    return loss.grad_fn


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y: (x, y),
        lambda x, y: [x, [y]],
        lambda x, y: {"inputs": x, "more": {"targets": y}},
        Pair,
        Sample,
        lambda x, y: UserDict({"inputs": x, "targets": y}),  # as transformers' BatchEncoding is
        lambda x, y: Stubborn(inputs=x, targets=y),
        lambda x, y: x,
        lambda x, y: (None, "text", 3, y),
    ],
)
def test_a_batch_is_known_in_whatever_it_comes(make: Callable[[Tensor, Tensor], Any]) -> None:
    drawn, batches = DrawnBatches(), [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
    for number, (x, y) in enumerate(batches):
        drawn.add(make(x, y), Draw(7, number))
    found = [drawn.of(loss_of(x, y), set()) for x, y in batches]
    assert found == [Draw(7, 0), Draw(7, 1), Draw(7, 2)]


def test_views_of_one_tensor_are_told_apart() -> None:
    drawn, x, y = DrawnBatches(), torch.randn(12, 3), torch.randn(12, 1)
    for number, rows in enumerate(torch.arange(12).split(4)):
        first, last = int(rows[0]), int(rows[-1]) + 1
        drawn.add((x[first:last], y[first:last]), Draw(0, number))
    assert drawn.of(loss_of(x[4:8], y[4:8]), set()) == Draw(0, 1)
    assert drawn.of(loss_of(x[9:11], y[9:11]), set()) == Draw(0, 2)


def test_a_copy_and_what_was_never_drawn_are_not_known() -> None:
    drawn, x, y = DrawnBatches(), torch.randn(4, 3), torch.randn(4, 1)
    drawn.add((x, y), Draw(0, 1))
    assert drawn.of(loss_of(x.clone(), y.clone()), set()) is None


def test_memory_that_another_tensor_got_is_not_the_batch() -> None:
    drawn = DrawnBatches()
    for number in range(50):
        drawn.add(torch.randn(64, 3), Draw(0, number))
        other = torch.randn(64, 3)  # likely where the batch was
        assert drawn.of(loss_of(other, torch.randn(64, 1)), set()) is None


def test_only_the_latest_batches_are_remembered() -> None:
    drawn, kept = DrawnBatches(), [torch.randn(4, 3) for _ in range(MOST_BATCHES + 1)]
    for number, x in enumerate(kept):
        drawn.add(x, Draw(0, number))
    assert drawn.of(loss_of(kept[0], torch.randn(4, 1)), set()) is None
    assert drawn.of(loss_of(kept[1], torch.randn(4, 1)), set()) == Draw(0, 1)


def test_a_remembered_batch_is_not_kept_alive() -> None:
    drawn, x = DrawnBatches(), torch.randn(4, 3)
    drawn.add(x, Draw(0, 1))
    storage = x.untyped_storage()
    ref = storage._weak_ref()
    del x, storage
    assert torch.UntypedStorage._expired(ref)
    torch.UntypedStorage._free_weak_ref(ref)


def taken(batches: Any) -> list[Any]:
    """A window, made where the loop's own code does not show how."""
    return list(itertools.islice(batches, 4))


def train(copies: bool, divisor: int) -> Audit:
    torch.manual_seed(0)
    x = torch.randn(32, 3)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with audit() as book:
        batches = iter(loader)
        while window := taken(batches):
            for inputs, targets in window:
                if copies:
                    inputs, targets = inputs * 1.0, targets * 1.0
                (nn.functional.mse_loss(model(inputs), targets) / divisor).backward()
            optimizer.step()
            optimizer.zero_grad()
    return book


def test_where_the_data_was_copied_the_verdict_says_so() -> None:
    (unseen,) = train(copies=True, divisor=1).verdict("").unseen
    assert (unseen.what, unseen.why, unseen.count) == ("batches", DRAWN_AHEAD, 6)


@pytest.mark.parametrize(("divisor", "rules"), [(1, ["GL301"]), (4, [])])
def test_where_it_was_not_nothing_is_unseen(divisor: int, rules: list[str]) -> None:
    book = train(copies=False, divisor=divisor)
    assert [finding.rule for finding in book.findings] == rules
    assert book.verdict("").unseen == ()
