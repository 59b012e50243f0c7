"""`assert_window_equals_batch` is right about every accumulation, and leaves no trace."""

from __future__ import annotations

import copy
import random
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_value_
from torch.nn.utils.rnn import pack_sequence
from torch.utils.checkpoint import checkpoint

from gradledger import LossError, OptionError, WindowNotEqual, assert_window_equals_batch

Batch: TypeAlias = tuple[Tensor, Tensor]
IGNORED = -100


def net(*between: nn.Module, seed: int = 0) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(5, 7), *between, nn.Tanh(), nn.Linear(7, 3))


OTHER = net().double()


def batches(*sizes: int, seed: int = 1) -> list[Batch]:
    generator = torch.Generator().manual_seed(seed)
    return [
        (torch.randn(size, 5, generator=generator), torch.randn(size, 3, generator=generator))
        for size in sizes
    ]


def mse(model: nn.Module, batch: Batch) -> Tensor:
    x, y = batch
    loss: Tensor = (model(x) - y).square().mean()
    return loss


def weighed(*weights: float) -> Callable[[nn.Module, Sequence[Batch]], None]:
    """An accumulation in which each micro-batch weighs this."""

    def accumulate(model: nn.Module, window: Sequence[Batch]) -> None:
        for weight, batch in zip(weights, window, strict=True):
            (weight * mse(model, batch)).backward()  # type: ignore[no-untyped-call]

    return accumulate


def sum_by_total(model: nn.Module, window: Sequence[Batch]) -> None:
    total = sum(len(y) for _, y in window)
    weighed(*(len(y) / total for _, y in window))(model, window)


def failure(*args: Any, **options: Any) -> str:
    with pytest.raises(WindowNotEqual) as failed:
        assert_window_equals_batch(*args, **options)
    return str(failed.value)


def table(said: str) -> list[tuple[int, float, float]]:
    """Rows, what it weighs and what it should, of each micro-batch."""
    found = re.findall(r"^ +\d+ +(\d+) +(\S+) +(\S+)$", said, re.MULTILINE)
    return [(int(rows), float(weighs), float(should)) for rows, weighs, should in found]


# What passes, and what does not -----------------------------------------------------------------


@given(size=st.integers(1, 6), count=st.integers(1, 5), seed=st.integers(0, 99))
def test_equal_micro_batches_divided_by_their_number_pass(size: int, count: int, seed: int) -> None:
    assert_window_equals_batch(net(seed=seed), mse, batches(*[size] * count, seed=seed))


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_the_sum_divided_by_all_items_passes(sizes: list[int], seed: int) -> None:
    assert_window_equals_batch(
        net(seed=seed), mse, batches(*sizes, seed=seed), accumulate=sum_by_total
    )


@given(sizes=st.lists(st.integers(1, 9), min_size=2, max_size=5).filter(lambda s: len({*s}) > 1))
def test_a_mean_of_means_fails_and_says_what_each_should_weigh(sizes: list[int]) -> None:
    said = failure(net(), mse, batches(*sizes))
    assert "a mean of means" in said
    assert [rows for rows, _, _ in table(said)] == sizes
    assert [weighs for _, weighs, _ in table(said)] == pytest.approx(
        [1 / len(sizes)] * len(sizes), abs=1e-4
    )
    assert [should for *_, should in table(said)] == pytest.approx(
        [size / sum(sizes) for size in sizes], abs=1e-4
    )


@given(weights=st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_any_weights_are_read_from_the_gradients(weights: list[float]) -> None:
    right = [0.2, 0.5, 0.3]
    if weights == pytest.approx(right, abs=1e-3):
        return
    said = failure(net(), mse, batches(2, 5, 3), accumulate=weighed(*weights))
    assert [weighs for _, weighs, _ in table(said)] == pytest.approx(weights, abs=1e-4)
    assert [should for *_, should in table(said)] == pytest.approx(right, abs=1e-4)


def test_it_says_how_far_off_the_window_is_as_torch_finds_it() -> None:
    window = batches(8, 2)
    said = failure(net(), mse, window)
    model = net().double()

    def gradient(accumulate: Callable[[], object]) -> dict[str, Tensor]:
        model.zero_grad()
        accumulate()
        return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}

    doubles = [(x.double(), y.double()) for x, y in window]
    whole = torch.cat([x for x, _ in doubles]), torch.cat([y for _, y in doubles])
    expected = gradient(lambda: weighed(1.0)(model, [whole]))
    actual = gradient(lambda: weighed(0.5, 0.5)(model, doubles))
    apart = {
        name: (actual[name] - expected[name]).norm() / expected[name].norm() for name in actual
    }
    worst = max(apart, key=lambda name: apart[name])
    together = torch.cat([(actual[name] - expected[name]).reshape(-1) for name in actual]).norm()
    together /= torch.cat([gradient.reshape(-1) for gradient in expected.values()]).norm()
    assert f"off by {100 * together:.3g} %" in said
    assert f"most in {worst} ({100 * apart[worst]:.3g} %)" in said


@pytest.mark.parametrize("count", [2, 4])
def test_what_is_not_divided_is_as_many_times_too_large(count: int) -> None:
    said = failure(net(), mse, batches(*[3] * count), accumulate=weighed(*[1.0] * count))
    assert f"It is {count} times that of the big batch" in said
    assert f"none is divided by {count}" in said


def test_what_is_divided_twice_is_said_to_be() -> None:
    said = failure(net(), mse, batches(3, 3), accumulate=weighed(0.25, 0.25))
    assert "0.5 times" in said
    assert "once too often" in said


def test_a_short_window_that_is_divided_as_if_it_were_full_fails() -> None:
    said = failure(net(), mse, batches(3, 3, 3), accumulate=weighed(*[1 / 4] * 3))
    assert "0.75 times" in said
    assert "the number of micro-batches in this very window" in said


def test_a_scale_that_was_left_in_is_recognised() -> None:
    said = failure(net(), mse, batches(3, 3), accumulate=weighed(32768.0, 32768.0))
    assert "65536 times" in said
    assert "GradScaler" in said


def test_a_clear_inside_the_window_is_named_with_the_micro_batches_it_cost() -> None:
    def accumulate(model: nn.Module, window: Sequence[Batch]) -> None:
        for batch in window:
            model.zero_grad()
            weighed(1 / 3)(model, [batch])

    said = failure(net(), mse, batches(2, 2, 2), accumulate=accumulate)
    assert "Nothing is left of micro-batch 1, 2: the deposit was cleared" in said


def test_an_accumulation_that_does_more_than_weigh_is_not_explained_by_weights() -> None:
    def accumulate(model: nn.Module, window: Sequence[Batch]) -> None:
        for batch in window:
            weighed(0.5)(model, [batch])
            clip_grad_value_(model.parameters(), 0.01)

    said = failure(net(), mse, batches(2, 2), accumulate=accumulate)
    assert "Weights alone do not give the window's gradient" in said
    assert re.findall(r"^ +\d+ +2 +(\S+)", said, re.MULTILINE) == ["?", "?"]


def test_a_small_cell_that_is_wrong_is_not_lost_in_the_large_ones() -> None:
    def accumulate(model: nn.Module, window: Sequence[Batch]) -> None:
        sum_by_total(model, window)
        bias = model.get_parameter("2.bias")
        assert bias.grad is not None
        bias.grad.mul_(1 + 1e-4)

    assert "most in 2.bias (0.01 %)" in failure(net(), mse, batches(2, 3), accumulate=accumulate)


def test_micro_batches_that_are_too_much_alike_are_said_to_be() -> None:
    model = nn.Linear(5, 1, bias=False)

    def loss_fn(model: nn.Module, batch: Batch) -> Tensor:
        loss: Tensor = model(batch[0]).mean()
        return loss

    said = failure(model, loss_fn, batches(1, 2, 3, 4, 5, 6, 7))
    assert "Who weighs what can't be told" in said
    assert table(said) == []


# Tokens -----------------------------------------------------------------------------------------


def tokens(*valid: int, length: int = 6) -> list[dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(3)
    window = []
    for count in valid:
        labels = torch.randint(0, 4, (2, length), generator=generator)
        labels.view(-1)[count:] = IGNORED
        words = torch.randint(0, 9, (2, length), generator=generator)
        window.append({"words": words, "labels": labels})
    return window


def language_model() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Embedding(9, 5), nn.Linear(5, 4))


def token_mean(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    return cross_entropy(model(batch["words"]).flatten(0, 1), batch["labels"].flatten())


def token_sum_by_total(model: nn.Module, window: Sequence[dict[str, Tensor]]) -> None:
    total = sum((batch["labels"] != IGNORED).sum() for batch in window)
    for batch in window:
        logits = model(batch["words"]).flatten(0, 1)
        loss = cross_entropy(logits, batch["labels"].flatten(), reduction="sum") / total
        loss.backward()  # type: ignore[no-untyped-call]


def test_a_token_mean_fails_where_the_padding_differs_though_the_rows_do_not() -> None:
    said = failure(language_model(), token_mean, tokens(9, 3))
    assert table(said) == [(2, 0.5, 0.75), (2, 0.5, 0.25)]


def test_a_token_mean_passes_where_the_valid_tokens_are_as_many() -> None:
    assert_window_equals_batch(language_model(), token_mean, tokens(7, 7))


@pytest.mark.parametrize("valid", [(9, 3), (12, 1), (5, 0), (0, 4, 11)])
def test_a_token_sum_divided_by_all_tokens_passes(valid: tuple[int, ...]) -> None:
    assert_window_equals_batch(
        language_model(), token_mean, tokens(*valid), accumulate=token_sum_by_total
    )


def test_a_micro_batch_without_a_valid_token_that_is_counted_is_named() -> None:
    said = failure(language_model(), token_mean, tokens(5, 0))
    assert "0.5 times" in said
    assert "Micro-batch 2 has no gradient" in said


def test_a_micro_batch_whose_mean_is_not_finite_is_named() -> None:
    def by_hand(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        valid = batch["labels"] != IGNORED
        logits = model(batch["words"])
        loss: Tensor = (logits.square().mean(-1) * valid).sum() / valid.sum()
        return loss

    said = failure(language_model(), by_hand, tokens(5, 0))
    assert said.startswith("the window's gradient is not finite; that of the big batch is.")
    assert "The mean of micro-batch 2 alone is not finite" in said


def test_a_micro_batch_without_a_gradient_has_no_weight_to_tell() -> None:
    def masked(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        valid = (batch["labels"] != IGNORED).sum().clamp(min=1)
        logits = model(batch["words"]).flatten(0, 1)
        return cross_entropy(logits, batch["labels"].flatten(), reduction="sum") / valid

    said = failure(language_model(), masked, tokens(5, 0, 3))
    assert re.search(r"^ +2 +2 +\? +\?$", said, re.MULTILINE)
    assert re.search(r"^ +1 +2 +0.3333 +0.6250$", said, re.MULTILINE)


def test_a_micro_batch_whose_loss_has_no_graph_may_be_left_out() -> None:
    def skipping(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        valid = bool((batch["labels"] != IGNORED).any())
        return token_mean(model, batch) if valid else torch.zeros(())

    def accumulate(model: nn.Module, window: Sequence[dict[str, Tensor]]) -> None:
        for batch in window:
            if (loss := skipping(model, batch)).requires_grad:
                (loss / 2).backward()  # type: ignore[no-untyped-call]

    said = failure(language_model(), skipping, tokens(5, 0, 3), accumulate=accumulate)
    assert re.search(r"^ +1 +2 +0.5000 +0.6250$", said, re.MULTILINE)
    assert re.search(r"^ +2 +2 +\? +\?$", said, re.MULTILINE)


def test_sequences_of_different_length_ask_for_a_way_to_join_them() -> None:
    window = tokens(5, length=4) + tokens(7, length=6)
    with pytest.raises(OptionError, match=r"batch\['words'\].*\(2, 4\), \(2, 6\).*concatenate="):
        assert_window_equals_batch(language_model(), token_mean, window)

    def padded(window: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
        longest = max(batch["words"].shape[1] for batch in window)

        def joined(name: str, fill: int) -> Tensor:
            pads = [(0, longest - batch[name].shape[1]) for batch in window]
            each = zip(window, pads, strict=True)
            return torch.cat([nn.functional.pad(b[name], pad, value=fill) for b, pad in each])

        return {"words": joined("words", 0), "labels": joined("labels", IGNORED)}

    assert_window_equals_batch(
        language_model(), token_mean, window, accumulate=token_sum_by_total, concatenate=padded
    )


# Models that no weights help --------------------------------------------------------------------


def test_batch_statistics_are_named_where_no_weights_would_do() -> None:
    model = net(nn.BatchNorm1d(7))
    said = failure(model, mse, batches(4, 4))
    assert "No weights would do" in said
    assert "BatchNorm (1)" in said
    assert_window_equals_batch(model.eval(), mse, batches(4, 4))


def test_dropout_is_named_where_no_weights_would_do() -> None:
    model = net(nn.Dropout(), nn.Dropout())
    said = failure(model, mse, batches(4, 4))
    assert "No weights would do" in said
    assert "draws random numbers (dropout)" in said
    assert_window_equals_batch(model.eval(), mse, batches(4, 4))


class Warming(nn.Module):
    """Lets more through with every pass."""

    passes: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.passes += 1
        return x * self.passes


def test_a_buffer_that_every_pass_changes_is_named_where_weights_explain_nothing() -> None:
    model = net(Warming())
    said = failure(model, mse, batches(4, 4))
    assert "Weights alone do not give the window's gradient" in said
    assert "changes the buffer 1.passes" in said
    model(torch.ones(1, 5))
    assert_window_equals_batch(model.eval(), mse, batches(4, 4))


def test_a_loss_that_mixes_the_items_is_named() -> None:
    def contrastive(model: nn.Module, batch: Batch) -> Tensor:
        x, y = batch
        return cross_entropy(model(x) @ y.T, torch.arange(len(x)))

    assert "mixes the items" in failure(net(), contrastive, batches(4, 4))


def test_batch_normalisation_with_misweighed_micro_batches_in_eval_is_about_weights() -> None:
    said = failure(net(nn.BatchNorm1d(7)).eval(), mse, batches(8, 2))
    assert "BatchNorm" not in said
    assert table(said) == [(8, 0.5, 0.8), (2, 0.5, 0.2)]


def test_at_an_optimum_rounding_is_no_difference_and_wrong_weights_are() -> None:
    model = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(model.weight)
    # Two items that pull in opposite directions, and as much: the gradient of both is zero.
    x = torch.tensor([[0.1, 0.7]])
    window = [(x, torch.tensor([[0.3]])), (x, torch.tensor([[-0.3]]))]
    assert_window_equals_batch(model, mse, window)
    said = failure(model, mse, window, accumulate=weighed(0.9, 0.1))
    assert "the big batch's gradient is zero, and the window's is not" in said


# No trace ---------------------------------------------------------------------------------------


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Values, gradients, their identity, modes and random numbers: all as before."""

    def state() -> dict[str, Any]:
        return {
            "values": copy.deepcopy(model.state_dict()),
            "grads": [None if p.grad is None else p.grad.clone() for p in model.parameters()],
            "random": (torch.get_rng_state(), random.getstate(), np.random.get_state()),
        }

    def identity() -> list[Any]:
        tensors = [*model.parameters(), *model.buffers(), *(p.grad for p in model.parameters())]
        return [(id(t), None if t is None else t._version) for t in tensors]

    def modes() -> list[Any]:
        parts = [(m.training, len(m._forward_hooks)) for m in model.modules()]
        return [parts, [p.requires_grad for p in model.parameters()], torch.is_grad_enabled()]

    before = state(), identity(), modes()
    yield
    torch.testing.assert_close(state()["values"], before[0]["values"], rtol=0, atol=0)
    for now, then in zip(state()["grads"], before[0]["grads"], strict=True):
        assert (now is None) == (then is None)
        assert now is None or torch.equal(now, then)
    assert torch.equal(state()["random"][0], before[0]["random"][0])
    assert state()["random"][1] == before[0]["random"][1]
    assert str(state()["random"][2]) == str(before[0]["random"][2])
    assert (identity(), modes()) == before[1:]


@pytest.mark.parametrize("sizes", [(3, 3), (4, 2)], ids=["passes", "fails"])
@pytest.mark.parametrize("held", [True, False], ids=["with gradients", "without"])
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_the_model_its_gradients_and_random_numbers_stay_as_they_are(
    sizes: tuple[int, ...], held: bool, training: bool
) -> None:
    model = net(nn.BatchNorm1d(7), nn.Dropout()).train(training)
    next(model.parameters()).requires_grad_(False)
    if held:
        weighed(1.0)(model, batches(5))

    def noisy(model: nn.Module, batch: Batch) -> Tensor:
        return mse(model, batch) + 0 * (random.random() + float(np.random.rand()))

    with untouched(model):
        try:
            assert_window_equals_batch(model, noisy, batches(*sizes))
        except WindowNotEqual:
            assert training or sizes == (4, 2)


def test_the_batches_stay_as_they_are_though_the_loss_writes_into_them() -> None:
    def in_place(model: nn.Module, batch: Batch) -> Tensor:
        batch[0].mul_(2)
        return mse(model, batch)

    window = batches(2, 2)
    before = copy.deepcopy(window)
    assert_window_equals_batch(net(), in_place, window)
    torch.testing.assert_close(window, before, rtol=0, atol=0)


def test_inputs_that_want_gradients_get_none() -> None:
    window = batches(2, 2)
    for x, _ in window:
        x.requires_grad_()
    assert_window_equals_batch(net(), mse, window)
    assert all(x.grad is None for x, _ in window)


def test_the_parameters_of_the_loss_get_no_gradient() -> None:
    temperature = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
    temperature.grad = held = torch.tensor(5.0, dtype=torch.float64)

    def tempered(model: nn.Module, batch: Batch) -> Tensor:
        return mse(model, batch) * temperature

    assert_window_equals_batch(net(), tempered, batches(2, 2))
    assert temperature.grad is held
    assert held.item() == 5.0


def test_an_exception_of_the_loss_comes_through_and_leaves_no_trace() -> None:
    def broken(model: nn.Module, batch: Batch) -> Tensor:
        torch.rand(3)
        mse(model, batch).backward()  # type: ignore[no-untyped-call]
        raise KeyError("labels")

    model = net()
    with untouched(model), pytest.raises(KeyError, match="labels"):
        assert_window_equals_batch(model, broken, batches(2, 2))


def test_it_works_where_gradients_are_off() -> None:
    with torch.no_grad():
        assert_window_equals_batch(net(), mse, batches(2, 2))
    with torch.inference_mode():
        assert_window_equals_batch(net(), mse, batches(2, 2))


# Models and batches of all kinds ----------------------------------------------------------------


class Pair(NamedTuple):
    x: Tensor
    y: Tensor


@dataclass(frozen=True)
class Fields:
    x: Tensor
    y: Tensor
    name: str = "same"


@pytest.mark.parametrize(
    "pack",
    [
        lambda x, y: Pair(x, y),
        lambda x, y: Fields(x, y),
        lambda x, y: [x, y],
        lambda x, y: {"x": x, "y": y, "scale": 2, "none": None},
        lambda x, y: OrderedDict(x=x, y=y),
        lambda x, y: {"both": (x, {"y": y}), "shared": torch.tensor(3.0)},
    ],
)
def test_batches_may_be_nested_as_people_nest_them(pack: Callable[..., Any]) -> None:
    window = [pack(x, y) for x, y in batches(8, 2)]
    kind = type(window[0])

    def loss_fn(model: nn.Module, batch: Any) -> Tensor:
        assert type(batch) is kind
        if isinstance(batch, dict):
            x, y = batch["both"] if "both" in batch else (batch["x"], batch["y"])
            y = y["y"] if isinstance(y, dict) else y
        else:
            x, y = batch if isinstance(batch, (list, tuple)) else (batch.x, batch.y)
        return mse(model, (x, y))

    assert table(failure(net(), loss_fn, window)) == [(8, 0.5, 0.8), (2, 0.5, 0.2)]


def test_a_window_may_be_a_generator_of_single_tensors() -> None:
    def loss_fn(model: nn.Module, x: Tensor) -> Tensor:
        loss: Tensor = model(x).square().mean()
        return loss

    assert_window_equals_batch(net(), loss_fn, iter(torch.randn(6, 5).chunk(3)))


def test_complex_parameters_stay_complex() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Linear(5, 3, dtype=torch.complex64)

    def loss_fn(model: nn.Module, batch: Batch) -> Tensor:
        x, y = batch
        loss: Tensor = (model(x + 0j) - y).abs().square().mean()
        return loss

    assert_window_equals_batch(model, loss_fn, batches(3, 3))
    assert table(failure(model, loss_fn, batches(8, 2))) == [(8, 0.5, 0.8), (2, 0.5, 0.2)]


def test_half_precision_models_are_compared_in_double() -> None:
    window = [(x.bfloat16(), y.bfloat16()) for x, y in batches(3, 3)]
    assert_window_equals_batch(net().bfloat16(), mse, window)


def test_a_model_that_has_to_keep_its_precision_does() -> None:
    weights = torch.tensor([1.0, 2.0, 0.5])

    def loss_fn(model: nn.Module, batch: Batch) -> Tensor:
        return cross_entropy(model(batch[0]), batch[1].argmax(1), weight=weights, reduction="sum")

    def accumulate(model: nn.Module, window: Sequence[Batch]) -> None:
        for batch in window:
            loss_fn(model, batch).backward()  # type: ignore[no-untyped-call]

    with pytest.raises(OptionError, match=r"loss_fn does not work in torch.float64.*`dtype=None`"):
        assert_window_equals_batch(net(), loss_fn, batches(3, 3), accumulate=accumulate)
    assert_window_equals_batch(
        net(), loss_fn, batches(3, 3), accumulate=accumulate, dtype=None, rtol=1e-4
    )


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointed_models_are_compared(reentrant: bool) -> None:
    def loss_fn(model: nn.Module, batch: Batch) -> Tensor:
        x, y = batch
        loss: Tensor = (
            checkpoint(model, x.requires_grad_(), use_reentrant=reentrant) - y
        ).square().mean()  # fmt: skip
        return loss

    assert_window_equals_batch(net(), loss_fn, batches(3, 3))
    assert table(failure(net(), loss_fn, batches(8, 2))) == [(8, 0.5, 0.8), (2, 0.5, 0.2)]


def test_tied_and_unused_and_sparse_parameters_are_compared() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(9, 5, sparse=True)
            self.out = nn.Linear(5, 9, bias=False)
            self.out.weight = self.words.weight
            self.unused = nn.Linear(2, 2)

        def forward(self, x: Tensor) -> Tensor:
            hidden: Tensor = self.words(x).mean(1)
            return hidden

    def loss_fn(model: nn.Module, batch: Tensor) -> Tensor:
        loss: Tensor = model(batch).square().mean()
        return loss

    x = torch.randint(0, 9, (10, 4), generator=torch.Generator().manual_seed(0))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Tied()
    assert_window_equals_batch(model, loss_fn, torch.chunk(x, 2))
    assert table(failure(model, loss_fn, [x[:8], x[8:]])) == [(8, 0.5, 0.8), (2, 0.5, 0.2)]


# What can't be -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "says"),
    [
        ([], "micro_batches is empty"),
        (torch.randn(4, 5), r"must be a list of batches, got one Tensor.*x.split\(8\)"),
        ([torch.tensor(1.0), torch.tensor(2.0)], "`batch` is a single number, and differs"),
        ([torch.randn(2, 5), torch.randn(2, 4)], r"`batch` has shapes.*\(2, 5\), \(2, 4\)"),
        ([torch.randn(2, 5), (torch.randn(2, 5),)], "`batch` is a Tensor in one and a tuple in"),
        ([{"x": torch.ones(2)}, {"y": torch.ones(2)}], "does not have the same parts"),
        ([[torch.ones(2), "a"], [torch.ones(2), "b"]], r"`batch\[1\]` isn't a tensor but a str"),
        ([np.ones(2), np.zeros(2)], "`batch` isn't a tensor but a ndarray"),
        ([pack_sequence([torch.ones(2)])] * 2, "is a PackedSequence"),
    ],
)
def test_batches_that_make_no_big_batch_are_refused(window: Any, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        assert_window_equals_batch(net(), mse, window)


@pytest.mark.parametrize(
    ("loss_fn", "says"),
    [
        (lambda model, batch: mse(model, batch).item(), "got float. `.item\\(\\)` takes the graph"),
        (lambda model, batch: mse(model, batch).detach(), "has no graph"),
        (lambda model, batch: model(batch[0]), r"must return one number, got shape \(4, 3\)"),
        (lambda model, batch: mse(model, batch) * float("nan"), "of the big batch is not finite"),
        (lambda model, batch: mse(model, batch) * 0, "every gradient is zero"),
        (lambda model, batch: mse(OTHER, batch), "loss_fn left no gradient in the model"),
    ],
)
def test_losses_without_a_gradient_are_refused(loss_fn: Any, says: str) -> None:
    with pytest.raises(LossError, match=says):
        assert_window_equals_batch(net(), loss_fn, batches(2, 2))


def test_an_accumulation_into_the_model_itself_is_refused_and_undone() -> None:
    model = net().double()

    def accumulate(_: nn.Module, window: Sequence[Batch]) -> None:
        sum_by_total(model, window)

    with untouched(model), pytest.raises(OptionError, match="through your model itself"):
        assert_window_equals_batch(model, mse, batches(2, 2), accumulate=accumulate)


def test_an_accumulation_that_steps_is_refused() -> None:
    def accumulate(model: nn.Module, window: Sequence[Batch]) -> None:
        sum_by_total(model, window)
        torch.optim.SGD(model.parameters(), 0.1).step()

    with pytest.raises(OptionError, match=r"changed the parameter 0.weight.*no optimizer.step"):
        assert_window_equals_batch(net(), mse, batches(2, 2), accumulate=accumulate)


def test_an_accumulation_that_clears_at_its_end_is_refused() -> None:
    def accumulate(model: nn.Module, window: Sequence[Batch]) -> None:
        sum_by_total(model, window)
        model.zero_grad()

    with pytest.raises(LossError, match=r"accumulate left no gradient.*calls zero_grad\(\) after"):
        assert_window_equals_batch(net(), mse, batches(2, 2), accumulate=accumulate)


@pytest.mark.parametrize("rtol", [0, -1, float("nan")])
def test_a_tolerance_that_nothing_could_meet_is_refused(rtol: float) -> None:
    with pytest.raises(OptionError, match="rtol must be positive"):
        assert_window_equals_batch(net(), mse, batches(2, 2), rtol=rtol)


def test_models_that_can_not_be_compared_are_refused() -> None:
    with pytest.raises(OptionError, match="no trainable parameter"):
        assert_window_equals_batch(net().requires_grad_(False), mse, batches(2, 2))
    with pytest.raises(OptionError, match="a lazy module of the model has no parameters yet"):
        assert_window_equals_batch(nn.LazyLinear(3), mse, batches(2, 2))
    model = net()
    model.hidden = model(torch.ones(1, 5))
    with pytest.raises(OptionError, match=r"the model can't be copied.*hang on a graph"):
        assert_window_equals_batch(model, mse, batches(2, 2))


def test_the_failure_is_an_assertion_and_pytest_shows_the_line_of_the_caller() -> None:
    assert issubclass(WindowNotEqual, AssertionError)
    with pytest.raises(WindowNotEqual) as failed:
        assert_window_equals_batch(net(), mse, batches(8, 2))
    assert failed.traceback[-1].frame.f_locals["__tracebackhide__"]
