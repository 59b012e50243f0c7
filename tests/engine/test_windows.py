"""A window's update is that of one big batch, whatever the window is made of."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import SGD, Adam, AdamW, Optimizer, RMSprop, SparseAdam
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR, StepLR
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper
from gradledger.errors import StepperWarning

from .loops import (
    Batch,
    Layers,
    MakeOptimizer,
    assert_same,
    assert_same_model,
    big_batches,
    merged,
    micro_batches,
    mse,
    net,
    parameters_of,
    unchanged,
    windows,
)

PACK = pytest.mark.parametrize("pack", [True, False], ids=["packed", "loose"])
OPTIMIZERS: list[MakeOptimizer] = [
    lambda ps: SGD(ps, 0.1),
    lambda ps: SGD(ps, 0.1, momentum=0.9, weight_decay=0.01),
    lambda ps: AdamW(ps, 0.01, eps=1e-3),
    lambda ps: RMSprop(ps, 0.01, eps=1e-3),
]
EACH = pytest.mark.parametrize("make", OPTIMIZERS, ids=["sgd", "momentum", "adamw", "rmsprop"])


def train(stepper: Stepper, model: nn.Module, data: list[Batch]) -> None:
    for x, y in stepper.over(data):
        stepper.backward(mse(model, (x, y)), items=len(y))


@PACK
@EACH
@pytest.mark.parametrize("accumulate", [1, 2, 3, 12])
def test_equal_micro_batches_equal_the_big_batch(
    accumulate: int, make: MakeOptimizer, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 12)
    a, b = make(ours.parameters()), make(theirs.parameters())
    stepper = Stepper(ours, a, accumulate=accumulate, pack=pack)
    train(stepper, ours, data)
    big_batches(theirs, b, windows(data, accumulate))
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())
    assert stepper.updates == 12 // accumulate


@PACK
@EACH
def test_unequal_micro_batches_equal_the_big_batch(make: MakeOptimizer, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 4, 4, 2, 1, 9, 2, 5)
    stepper = Stepper(ours, make(ours.parameters()), accumulate=4, pack=pack)
    train(stepper, ours, data)
    big_batches(theirs, make(theirs.parameters()), windows(data, 4))
    assert_same_model(ours, theirs)


@PACK
@EACH
def test_a_short_last_window_is_stepped_with_its_right_weight(
    make: MakeOptimizer, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 9, 3)
    stepper = Stepper(ours, make(ours.parameters()), accumulate=4, pack=pack)
    train(stepper, ours, data)
    assert (stepper.updates, stepper.micro_batches) == (3, 0)
    big_batches(theirs, make(theirs.parameters()), windows(data, 4))
    assert_same_model(ours, theirs)


@PACK
def test_a_short_last_window_weighs_right_without_items(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 10)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=4, pack=pack)
    for batch in stepper.over(data):
        stepper.backward(mse(ours, batch))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 4))
    assert_same_model(ours, theirs)


@PACK
def test_a_window_shorter_than_itself_is_all_there_is(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 2)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=100, pack=pack)
    train(stepper, ours, data)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [data])
    assert_same_model(ours, theirs)
    assert stepper.updates == 1


class Tagger(nn.Module):
    """Scores for each token."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.embed = nn.Embedding(11, 6, dtype=torch.float64)
            self.score = nn.Linear(6, 5, dtype=torch.float64)

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.score(torch.tanh(self.embed(tokens)))
        return scores.transpose(1, 2)


def sentences() -> list[Batch]:
    """Nearly all labels of the first are masked, hardly any of the last."""
    generator = torch.Generator().manual_seed(2)
    found = []
    for keep in (1, 3, 8, 16):
        tokens = torch.randint(11, (2, 8), generator=generator)
        labels = torch.randint(5, (2, 8), generator=generator)
        labels.view(-1)[torch.randperm(16, generator=generator)[keep:]] = -100
        found.append((tokens, labels))
    return found


@PACK
@pytest.mark.parametrize("kind", ["tensor", "int", "float"])
def test_valid_tokens_are_items(kind: str, pack: bool) -> None:
    ours, theirs = Tagger(), Tagger()
    optimizer = SGD(ours.parameters(), 0.1, momentum=0.9)
    stepper = Stepper(ours, optimizer, accumulate=4, pack=pack)
    for _ in range(2):
        for tokens, labels in stepper.over(sentences()):
            loss = functional.cross_entropy(ours(tokens), labels)
            valid = (labels != -100).sum()
            items: Any = {"tensor": valid, "int": int(valid), "float": float(valid)}[kind]
            stepper.backward(loss, items=items)
    big_batches(
        theirs,
        SGD(theirs.parameters(), 0.1, momentum=0.9),
        [sentences()] * 2,
        loss=lambda model, batch: functional.cross_entropy(model(batch[0]), batch[1]),
    )
    assert_same_model(ours, theirs)


@PACK
def test_items_omitted_means_that_micro_batches_weigh_the_same(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=2, pack=pack)

    def loop() -> None:
        for batch in stepper.over(data):
            stepper.backward(mse(ours, batch))

    with pytest.warns(StepperWarning, match="items"):
        loop()
    optimizer = SGD(theirs.parameters(), 0.1)
    torch.autograd.backward((mse(theirs, data[0]) + mse(theirs, data[1])) / 2)
    optimizer.step()
    assert_same_model(ours, theirs)


def test_micro_batches_that_look_equal_give_no_warning_without_items() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=3)
    for batch in stepper.over(micro_batches(*[4] * 7)):
        stepper.backward(mse(model, batch))
    assert stepper.updates == 3


def test_a_smaller_micro_batch_alone_in_its_window_gives_no_warning_without_items() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=1)
    for batch in stepper.over(micro_batches(4, 4, 2)):
        stepper.backward(mse(model, batch))
    assert stepper.updates == 3


@PACK
def test_without_over_each_backward_is_a_micro_batch_and_flush_ends_the_last(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 3, 2, 1, 5, 6)
    stepper = Stepper(ours, AdamW(ours.parameters(), 0.01, eps=1e-3), accumulate=4, pack=pack)
    told = [stepper.backward(mse(ours, batch), items=len(batch[1])) for batch in data]
    assert told == [False, False, False, True, False, False]
    assert stepper.micro_batches == 2
    assert stepper.flush()
    assert not stepper.flush()
    assert (stepper.updates, stepper.micro_batches) == (2, 0)
    big_batches(theirs, AdamW(theirs.parameters(), 0.01, eps=1e-3), windows(data, 4))
    assert_same_model(ours, theirs)


def test_backward_says_when_it_made_an_update() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    told = [stepper.backward(mse(model, b), items=4) for b in stepper.over(micro_batches(*[4] * 5))]
    assert told == [False, True, False, True, False]
    assert stepper.updates == 3


def test_the_open_window_knows_its_micro_batches() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=3)
    seen = []
    for batch in stepper.over(micro_batches(*[2] * 4)):
        stepper.backward(mse(model, batch), items=2)
        seen.append(stepper.micro_batches)
    assert seen == [1, 2, 0, 1]
    assert stepper.micro_batches == 0


def test_over_yields_what_the_data_yields() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    data = micro_batches(2, 3)
    drawn = []
    for batch in stepper.over(data):
        drawn.append(batch)
        stepper.backward(mse(model, batch), items=1)
    assert len(drawn) == 2
    assert all(a is b for a, b in zip(drawn, data, strict=True))


def test_a_generator_and_a_loader_are_data() -> None:
    x, y = merged(micro_batches(10))

    def generate() -> Iterator[Batch]:
        for i in range(0, 10, 4):
            yield x[i : i + 4], y[i : i + 4]

    generated, loaded, theirs = net(), net(), net()
    first = Stepper(generated, SGD(generated.parameters(), 0.1), accumulate=2)
    for batch in first.over(generate()):
        first.backward(mse(generated, batch), items=len(batch[1]))
    second = Stepper(loaded, SGD(loaded.parameters(), 0.1), accumulate=2)
    for a, b in second.over(DataLoader(TensorDataset(x, y), batch_size=4)):
        second.backward(mse(loaded, (a, b)), items=len(b))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(list(generate()), 2))
    assert_same_model(generated, theirs)
    assert_same_model(loaded, theirs)


def test_passes_over_the_data_are_counted_when_completed() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    data = micro_batches(2, 2)
    assert stepper.epoch == 0
    for expected in (1, 2):
        train(stepper, model, data)
        assert stepper.epoch == expected
    for batch in stepper.over(data):
        stepper.backward(mse(model, batch), items=2)
        break
    assert stepper.epoch == 2


@PACK
def test_a_window_left_by_break_is_spent_by_flush(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 2, 3)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack)
    for batch in stepper.over(data):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
        if stepper.micro_batches == 2:
            break
    assert stepper.updates == 0
    assert stepper.flush()
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [data[:2]])
    assert_same_model(ours, theirs)


@PACK
def test_a_window_left_by_break_is_forgotten_by_drop(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 2, 3, 5)
    optimizer = SGD(ours.parameters(), 0.1, momentum=0.9)
    stepper = Stepper(ours, optimizer, accumulate=2, pack=pack)
    with unchanged(ours, optimizer):
        for batch in stepper.over(data):
            stepper.backward(mse(ours, batch), items=len(batch[1]))
            break
        stepper.drop()
    assert (stepper.updates, stepper.dropped, stepper.micro_batches) == (0, 1, 0)
    assert not stepper.flush()
    train(stepper, ours, data)
    big_batches(theirs, SGD(theirs.parameters(), 0.1, momentum=0.9), windows(data, 2))
    assert_same_model(ours, theirs)


@PACK
def test_a_window_left_by_break_is_spent_by_the_next_over_first(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 2, 3)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack)
    for batch in stepper.over(data):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
        break
    for batch in stepper.over(data):
        assert stepper.updates == 1
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [data[:1], data])
    assert_same_model(ours, theirs)


def test_nothing_to_flush_or_drop_is_no_update_and_no_drop() -> None:
    model = net()
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer, accumulate=2)
    with unchanged(model, optimizer):
        assert not stepper.flush()
        stepper.drop()
        for _ in stepper.over([]):
            pass
    assert (stepper.updates, stepper.dropped) == (0, 0)


@PACK
def test_the_losses_of_a_micro_batch_add_up(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 6)
    stepper = Stepper(ours, AdamW(ours.parameters(), 0.01, eps=1e-3), accumulate=2, pack=pack)
    told = []
    for x, y in stepper.over(data):
        n = len(y)
        told.append(stepper.backward(mse(ours, (x, y)), items=n, more=True))
        told.append(stepper.backward(0.3 * ours(x).abs().mean(), items=n, more=True))
        told.append(stepper.backward(ours(x).exp().mean(), items=n))
    assert told == [*[False] * 5, True] * 2 + [False] * 3

    def total(model: nn.Module, batch: Batch) -> Tensor:
        out = model(batch[0])
        loss: Tensor = mse(model, batch) + 0.3 * out.abs().mean() + out.exp().mean()
        return loss

    big_batches(theirs, AdamW(theirs.parameters(), 0.01, eps=1e-3), windows(data, 2), loss=total)
    assert_same_model(ours, theirs)


@PACK
def test_losses_that_share_their_graph_add_up(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=2, pack=pack)
    for x, y in stepper.over(data):
        out = ours(x)
        stepper.backward((out - y).square().mean(), items=len(y), more=True, retain_graph=True)
        stepper.backward(out.exp().mean(), items=len(y))

    def total(model: nn.Module, batch: Batch) -> Tensor:
        loss: Tensor = mse(model, batch) + model(batch[0]).exp().mean()
        return loss

    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 2), loss=total)
    assert_same_model(ours, theirs)


class Branches(nn.Module):
    """Two heads, of which a micro-batch uses one, or both."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.body = nn.Linear(5, 4, dtype=torch.float64)
            self.heads = nn.ModuleList(nn.Linear(4, 3, dtype=torch.float64) for _ in range(2))

    def forward(self, x: Tensor, *heads: int) -> Tensor:
        hidden = torch.tanh(self.body(x))
        return torch.stack([self.heads[i](hidden) for i in heads]).sum(0)


@PACK
@EACH
def test_a_parameter_without_a_deposit_does_not_move(make: MakeOptimizer, pack: bool) -> None:
    ours, theirs = Branches(), Branches()
    data = micro_batches(*[4] * 10)
    used = [(0,), (0,), (0, 1), (0,), (1,), (1,), (0, 1), (0, 1), (0,), (0,)]
    a, b = make(ours.parameters()), make(theirs.parameters())
    stepper = Stepper(ours, a, accumulate=2, pack=pack)
    for i, (x, y) in enumerate(stepper.over(data)):
        idle = {0, 1} - set(used[i - i % 2] + used[i - i % 2 + 1])
        before = [copy.deepcopy(ours.heads[head].state_dict()) for head in idle]
        made = stepper.backward((ours(x, *used[i]) - y).square().mean(), items=len(y))
        assert made == (i % 2 == 1)
        for head, state in zip(idle, before, strict=True):
            assert_same(ours.heads[head].state_dict(), state, exact=True)
    for i in range(0, 10, 2):
        b.zero_grad()
        losses = [(theirs(data[j][0], *used[j]) - data[j][1]).square().mean() for j in (i, i + 1)]
        torch.autograd.backward(sum(losses, torch.zeros((), dtype=torch.float64)) / 2)
        b.step()
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


@PACK
def test_a_parameter_that_never_gets_a_deposit_gets_no_state(pack: bool) -> None:
    model = Branches()
    optimizer = Adam(model.parameters(), 0.01)
    stepper = Stepper(model, optimizer, pack=pack)
    for x, y in stepper.over(micro_batches(4, 4)):
        stepper.backward((model(x, 0) - y).square().mean(), items=4)
    assert set(optimizer.state_dict()["state"]) == {0, 1, 2, 3}
    assert not any(optimizer.state.get(p) for p in model.heads[1].parameters())


@PACK
def test_a_deposit_of_zero_is_a_deposit(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 4, 4)
    make: MakeOptimizer = lambda ps: SGD(ps, 0.1, momentum=0.9, weight_decay=0.1)  # noqa: E731
    a, b = make(ours.parameters()), make(theirs.parameters())
    stepper = Stepper(ours, a, pack=pack)
    for i, batch in enumerate(stepper.over(data)):
        stepper.backward(mse(ours, batch) * (i != 1), items=4)
    for i, batch in enumerate(data):
        b.zero_grad()
        torch.autograd.backward(mse(theirs, batch) * (i != 1))
        b.step()
    assert_same_model(ours, theirs)


@PACK
def test_param_groups_keep_their_settings(pack: bool) -> None:
    def make(model: Layers) -> Optimizer:
        groups = [
            {"params": model[0].parameters(), "lr": 0.05, "weight_decay": 0.0},
            {"params": [model[2].weight], "betas": (0.5, 0.9)},
            {"params": [model[2].bias], "maximize": True},
        ]
        return AdamW(groups, 0.01, weight_decay=0.1, eps=1e-3)

    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 6)
    a, b = make(ours), make(theirs)
    train(Stepper(ours, a, accumulate=2, pack=pack), ours, data)
    big_batches(theirs, b, windows(data, 2))
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


class Tied(nn.Module):
    """One weight, used twice, under two names."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.first = nn.Linear(5, 5, dtype=torch.float64)
            self.second = nn.Linear(5, 5, dtype=torch.float64)
            self.last = nn.Linear(5, 3, dtype=torch.float64)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(torch.tanh(self.second(torch.tanh(self.first(x)))))
        return out


@PACK
@EACH
def test_a_tied_weight_is_one_parameter(make: MakeOptimizer, pack: bool) -> None:
    ours, theirs = Tied(), Tied()
    data = micro_batches(4, 1, 3, 2, 6)
    train(Stepper(ours, make(ours.parameters()), accumulate=2, pack=pack), ours, data)
    big_batches(theirs, make(theirs.parameters()), windows(data, 2))
    assert_same_model(ours, theirs)
    assert ours.first.weight is ours.second.weight


@PACK
def test_a_frozen_parameter_stays_and_moves_when_it_thaws(pack: bool) -> None:
    def freeze(model: Layers, frozen: bool) -> None:
        for p in model[0].parameters():
            p.requires_grad_(not frozen)

    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    make: MakeOptimizer = lambda ps: SGD(ps, 0.1, momentum=0.9, weight_decay=0.1)  # noqa: E731
    freeze(ours, True)
    freeze(theirs, True)
    a, b = make(ours.parameters()), make(theirs.parameters())
    stepper = Stepper(ours, a, accumulate=2, pack=pack)
    for frozen in (True, False, True, False):
        freeze(ours, frozen)
        freeze(theirs, frozen)
        train(stepper, ours, data)
        big_batches(theirs, b, windows(data, 2))
        assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


@PACK
def test_parameters_that_the_optimizer_does_not_own_get_nothing(pack: bool) -> None:
    model = net()
    before = copy.deepcopy(model[0].state_dict())
    stepper = Stepper(model, SGD(model[2].parameters(), 0.1), pack=pack, allow=["unowned"])
    train(stepper, model, micro_batches(4, 2))
    assert all(p.grad is None for p in model.parameters())
    assert_same(model[0].state_dict(), before, exact=True)


class Words(nn.Module):
    """A sparse table, and something dense after it."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.table = nn.Embedding(9, 5, sparse=True, dtype=torch.float64)
            self.score = nn.Linear(5, 3, dtype=torch.float64)

    def forward(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.score(self.table(tokens))
        return out


def word_batches(*sizes: int) -> list[Batch]:
    generator = torch.Generator().manual_seed(3)
    return [
        (torch.randint(9, (size,), generator=generator), y)
        for size, (_, y) in zip(sizes, micro_batches(*sizes), strict=True)
    ]


@PACK
@pytest.mark.parametrize("clip", [None, 0.1])
def test_sparse_gradients_add_up(clip: float | None, pack: bool) -> None:
    ours, theirs = Words(), Words()
    data = word_batches(4, 1, 3, 2, 6)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=2, pack=pack, clip_norm=clip)
    train(stepper, ours, data)
    theirs.table.sparse = False  # torch clips no sparse gradient; the dense one is the same
    optimizer = SGD(theirs.parameters(), 0.1)
    big_batches(
        theirs, optimizer, windows(data, 2), clip_norm=float("inf") if clip is None else clip
    )
    assert_same_model(ours, theirs)


@PACK
def test_sparse_adam_and_a_dense_optimizer_step_together(pack: bool) -> None:
    ours, theirs = Words(), Words()
    data = word_batches(4, 1, 3, 2, 6)

    def make(model: Words) -> list[Optimizer]:
        return [
            SparseAdam(model.table.parameters(), 0.01),
            AdamW(model.score.parameters(), 0.01, eps=1e-3),
        ]

    train(Stepper(ours, make(ours), accumulate=2, pack=pack), ours, data)
    both = make(theirs)
    for window in windows(data, 2):
        torch.autograd.backward(mse(theirs, merged(window)))
        for optimizer in both:
            optimizer.step()
            optimizer.zero_grad()
    assert_same_model(ours, theirs)


@PACK
def test_parameters_added_later_are_stepped_from_then_on(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    a = AdamW(ours[2].parameters(), 0.01, eps=1e-3)
    b = AdamW(theirs[2].parameters(), 0.01, eps=1e-3)
    stepper = Stepper(ours, a, accumulate=2, pack=pack, allow=["unowned"])
    train(stepper, ours, data)
    big_batches(theirs, b, windows(data, 2))
    a.add_param_group({"params": list(ours[0].parameters()), "lr": 0.05})
    theirs.zero_grad()
    b.add_param_group({"params": list(theirs[0].parameters()), "lr": 0.05})
    train(stepper, ours, data)
    big_batches(theirs, b, windows(data, 2))
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


@PACK
def test_a_layer_added_to_the_model_later_is_trained(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    a, b = SGD(ours.parameters(), 0.1, momentum=0.9), SGD(theirs.parameters(), 0.1, momentum=0.9)
    stepper = Stepper(ours, a, accumulate=2, pack=pack)
    train(stepper, ours, data)
    big_batches(theirs, b, windows(data, 2))
    for model, optimizer in ((ours, a), (theirs, b)):
        layer = nn.Linear(3, 3, dtype=torch.float64)
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
        model.append(layer)
        optimizer.add_param_group({"params": list(layer.parameters())})
    train(stepper, ours, data)
    big_batches(theirs, b, windows(data, 2))
    assert_same_model(ours, theirs)


@PACK
def test_two_models_with_two_optimizers_step_together(pack: bool) -> None:
    def make() -> tuple[nn.ModuleDict, list[Optimizer]]:
        model = nn.ModuleDict({"a": net(1), "b": net(2)})
        return model, [
            SGD(model["a"].parameters(), 0.1, momentum=0.9),
            AdamW(model["b"].parameters(), 0.01, eps=1e-3),
        ]

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        assert isinstance(model, nn.ModuleDict)
        out: Tensor = model["a"](batch[0]) * model["b"](batch[0])
        return (out - batch[1]).square().mean()

    ours, ours_two = make()
    theirs, theirs_two = make()
    data = micro_batches(4, 1, 3, 2, 6)
    stepper = Stepper(ours, ours_two, accumulate=2, clip_norm=0.5, pack=pack)
    for batch in stepper.over(data):
        stepper.backward(loss(ours, batch), items=len(batch[1]))
    for window in windows(data, 2):
        torch.autograd.backward(loss(theirs, merged(window)))
        nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        for optimizer in theirs_two:
            optimizer.step()
            optimizer.zero_grad()
    assert stepper.updates == 3
    assert_same_model(ours, theirs)
    for a, b in zip(ours_two, theirs_two, strict=True):
        assert_same(a.state_dict(), b.state_dict())


@PACK
def test_a_scheduler_moves_once_per_update(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[2] * 10)
    a, b = SGD(ours.parameters(), 0.1), SGD(theirs.parameters(), 0.1)
    ours_plan, theirs_plan = StepLR(a, 1, 0.5), StepLR(b, 1, 0.5)
    stepper = Stepper(ours, a, accumulate=4, scheduler=ours_plan, pack=pack)
    rates = []
    for batch in stepper.over(data):
        stepper.backward(mse(ours, batch), items=2)
        rates.append(a.param_groups[0]["lr"])
    assert rates == [0.1] * 3 + [0.05] * 4 + [0.025] * 3
    big_batches(theirs, b, windows(data, 4), scheduler=theirs_plan)
    assert_same_model(ours, theirs)
    assert ours_plan.get_last_lr() == theirs_plan.get_last_lr() == [0.0125]


@PACK
def test_a_scheduler_may_move_the_momentum_too(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[2] * 8)
    make: MakeOptimizer = lambda ps: SGD(ps, 0.1, momentum=0.9)  # noqa: E731
    a, b = make(ours.parameters()), make(theirs.parameters())
    first, second = (OneCycleLR(each, 0.2, total_steps=8) for each in (a, b))
    train(Stepper(ours, a, accumulate=2, scheduler=first, pack=pack), ours, data)
    big_batches(theirs, b, windows(data, 2), scheduler=second)
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


def test_several_schedulers_all_move_once_per_update() -> None:
    model = nn.ModuleDict({"a": net(1), "b": net(2)})
    first, second = (SGD(model[name].parameters(), 0.1) for name in "ab")
    plans = [LambdaLR(first, lambda n: 1 / (n + 1)), StepLR(second, 2)]
    stepper = Stepper(model, [first, second], accumulate=2, scheduler=plans)
    for x, y in stepper.over(micro_batches(*[2] * 5)):
        stepper.backward((model["a"](x) + model["b"](x) - y).square().mean(), items=2)
    assert [plan.last_epoch for plan in plans] == [3, 3]


def test_a_scheduler_of_the_user_moves_per_epoch_without_a_word() -> None:
    model = net()
    optimizer = SGD(model.parameters(), 0.1)
    plan = StepLR(optimizer, 1, 0.5)
    stepper = Stepper(model, optimizer, accumulate=2)
    for _ in range(2):
        train(stepper, model, micro_batches(2, 2))
        plan.step()
    assert optimizer.param_groups[0]["lr"] == 0.025


@PACK
@pytest.mark.parametrize("accumulate", [1, 3])
def test_no_cell_holds_a_gradient_between_calls(accumulate: int, pack: bool) -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=accumulate, pack=pack)
    for batch in stepper.over(micro_batches(2, 2, 2, 2)):
        assert all(p.grad is None for p in model.parameters())
        stepper.backward(mse(model, batch), items=2)
        assert all(p.grad is None for p in model.parameters())
    assert all(p.grad is None for p in model.parameters())


@PACK
@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad_between_windows_is_harmless(set_to_none: bool, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    optimizer = SGD(ours.parameters(), 0.1, momentum=0.9)
    stepper = Stepper(ours, optimizer, accumulate=2, pack=pack)
    optimizer.zero_grad(set_to_none)
    for batch in stepper.over(data):
        if stepper.backward(mse(ours, batch), items=len(batch[1])):
            optimizer.zero_grad(set_to_none)
            ours.zero_grad(set_to_none)
    optimizer.zero_grad(set_to_none)
    big_batches(theirs, SGD(theirs.parameters(), 0.1, momentum=0.9), windows(data, 2))
    assert_same_model(ours, theirs)


@PACK
def test_a_hook_of_the_users_on_a_parameter_changes_its_gradient(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    for model in (ours, theirs):
        model[0].weight.register_hook(lambda grad: grad * 3)
    train(Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=2, pack=pack), ours, data)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 2))
    assert_same_model(ours, theirs)


@PACK
def test_a_gradient_that_torch_computes_meanwhile_is_not_ours(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=2, pack=pack)
    for batch in stepper.over(data):
        torch.autograd.grad(mse(ours, data[0]), list(ours.parameters()))
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 2))
    assert_same_model(ours, theirs)


@PACK
def test_a_double_backward_is_deposited(pack: bool) -> None:
    def penalty(model: nn.Module, batch: Batch) -> Tensor:
        x = batch[0].clone().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return slope.square().mean()

    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    first = SGD(ours[0].parameters(), 0.1)
    stepper = Stepper(ours, first, accumulate=2, pack=pack, allow=["unowned"])
    for batch in stepper.over(data):
        stepper.backward(penalty(ours, batch), items=len(batch[1]))
    optimizer = SGD(theirs[0].parameters(), 0.1)
    big_batches(theirs, optimizer, windows(data, 2), loss=penalty)
    assert_same_model(ours, theirs)
    assert all(p.grad is None for p in parameters_of(optimizer))


@PACK
def test_an_input_that_requires_a_gradient_is_no_parameter(pack: bool) -> None:
    model = net()
    x, y = micro_batches(4)[0]
    x.requires_grad_()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), pack=pack)
    assert stepper.backward(mse(model, (x, y)), items=4)
    assert x.grad is None


@pytest.mark.parametrize("accumulate", [1, 2])
def test_no_gradient_outlives_its_update(accumulate: int) -> None:
    model = net()
    seen: list[ref[Tensor]] = []

    def note(p: Tensor) -> None:
        assert p.grad is not None
        seen.append(ref(p.grad))

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(note)  # type: ignore[no-untyped-call]
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=accumulate, pack=False)
    for batch in stepper.over(micro_batches(4, 4)):
        if stepper.backward(mse(model, batch), items=4):
            assert seen
            assert not any(grad() is not None for grad in seen)


@pytest.mark.parametrize("error", [NotImplementedError, TypeError, ValueError])
def test_data_that_can_not_tell_its_length_is_data(error: type[Exception]) -> None:
    class Endless:
        def __iter__(self) -> Iterator[Batch]:
            return iter(micro_batches(4, 4, 4))

        def __len__(self) -> int:
            raise error

    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    for batch in stepper.over(Endless()):
        stepper.backward(mse(model, batch), items=4)
    assert stepper.updates == 2
