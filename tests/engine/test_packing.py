"""Packing is faster and nothing else: whatever people do, they can't tell it from pack=False."""

from __future__ import annotations

import copy
import gc
import io
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
import torch
from torch import Tensor, nn, optim
from torch.nn.utils import parameters_to_vector, parametrize, vector_to_parameters
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper
from gradledger.engine import packing, packs
from tests.torch_versions import made

from .loops import assert_equal

Layers: TypeAlias = "nn.Sequential"
Batch: TypeAlias = "tuple[Tensor, Tensor]"
Make: TypeAlias = Callable[[Iterable[nn.Parameter]], Optimizer]
Deed: TypeAlias = Callable[[Layers, Optimizer], object]

ODD = (5, 7, 3, 1, 17, 33)
"""Widths whose products are no multiples of a vector register."""
EVEN = (32, 64, 32, 96)
"""Widths whose products are."""


def layers(
    widths: Sequence[int] = ODD, *, seed: int = 0, dtype: torch.dtype = torch.float32
) -> Layers:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        each: list[nn.Module] = []
        for before, after in pairwise(widths):
            each += [nn.Linear(before, after), nn.Tanh()]
        return nn.Sequential(*each[:-1]).to(dtype)


def batches(
    count: int, widths: Sequence[int] = ODD, *, seed: int = 1, dtype: torch.dtype = torch.float32
) -> list[Batch]:
    generator = torch.Generator().manual_seed(seed)

    def normal(width: int) -> Tensor:
        return torch.randn(4, width, generator=generator).to(dtype)

    return [(normal(widths[0]), normal(widths[-1])) for _ in range(count)]


def mse(model: nn.Module, batch: Batch) -> Tensor:
    loss: Tensor = (model(batch[0]) - batch[1]).square().mean()
    return loss


def train(stepper: Stepper, model: nn.Module, data: Iterable[Batch]) -> None:
    for batch in stepper.over(data):
        stepper.backward(mse(model, batch))


def by_hand(model: nn.Module, optimizer: Optimizer, data: Iterable[Batch]) -> None:
    for batch in data:
        optimizer.zero_grad()
        torch.autograd.backward(mse(model, batch))
        optimizer.step()
    optimizer.zero_grad()


def sgd(parameters: Iterable[nn.Parameter]) -> Optimizer:
    return optim.SGD(parameters, lr=0.01)


def momentum(parameters: Iterable[nn.Parameter]) -> Optimizer:
    return optim.SGD(parameters, lr=0.01, momentum=0.9)


def adamw(parameters: Iterable[nn.Parameter]) -> Optimizer:
    return optim.AdamW(parameters, lr=0.01)


def assert_packed(stepper: Stepper) -> None:
    assert stepper.plan().packs, stepper.plan()


def assert_alike(
    one: nn.Module, its: Optimizer, other: nn.Module, others: Optimizer | None = None
) -> None:
    assert_equal(dict(one.state_dict()), dict(other.state_dict()))
    if others is not None:
        assert_equal(its.state_dict(), others.state_dict())


# Optimizers -----------------------------------------------------------------------------------

CASES: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"momentum": 0.9, "dampening": 0.1, "maximize": True},
        {"momentum": 0.5, "foreach": True},
    ],
    "Adam": [
        {},
        {"amsgrad": True, "weight_decay": 0.1},
        {"decoupled_weight_decay": True, "weight_decay": 0.1, "maximize": True},
        {"foreach": True},
        {"lr": torch.tensor(1e-3)},
    ],
    "AdamW": [{}, {"amsgrad": True}, {"foreach": True, "maximize": True}],
    "RMSprop": [
        {},
        {"centered": True, "momentum": 0.9, "weight_decay": 0.1},
        {"foreach": True, "momentum": 0.9, "maximize": True},
    ],
    "Adagrad": [
        {},
        {"lr_decay": 0.01, "weight_decay": 0.1},
        {"initial_accumulator_value": 0.1, "foreach": True, "maximize": True},
    ],
    "Adadelta": [{}, {"weight_decay": 0.1, "maximize": True}, {"foreach": True}],
    "Adamax": [{}, {"weight_decay": 0.1, "maximize": True}, {"foreach": True}],
    "NAdam": [
        {},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"foreach": True, "maximize": True},
    ],
    "RAdam": [
        {},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"foreach": True, "maximize": True},
    ],
    "ASGD": [{}, {"weight_decay": 0.1, "t0": 3}, {"foreach": True, "maximize": True}],
    "Rprop": [{}, {"foreach": True}, {"maximize": True}],
}
EACH = pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name, each in CASES.items() for options in each]
)
FUSED = pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"momentum": 0.9, "weight_decay": 0.1}),
        ("Adam", {"amsgrad": True}),
        ("AdamW", {"maximize": True}),
        ("Adagrad", {}),
    ],
)


def make(name: str, options: dict[str, Any], model: nn.Module) -> Optimizer:
    return made(name, model.parameters(), {"lr": 1e-3, **copy.deepcopy(options)})


@pytest.mark.parametrize("accumulate", [pytest.param(1, marks=pytest.mark.slow), 3])
@EACH
def test_packed_weights_and_state_are_those_of_loose_ones_bit_for_bit(
    name: str, options: dict[str, Any], accumulate: int
) -> None:
    data = batches(30 * accumulate)
    results = []
    for pack in (True, False):
        model = layers()
        optimizer = make(name, options, model)
        stepper = Stepper(model, optimizer, accumulate=accumulate, pack=pack)
        train(stepper, model, data)
        assert bool(stepper.plan().packs) is pack
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


@EACH
def test_packed_weights_and_state_are_those_of_a_plain_loop_bit_for_bit(
    name: str, options: dict[str, Any]
) -> None:
    model, plain = layers(), layers()
    optimizer, plain_one = make(name, options, model), make(name, options, plain)
    stepper = Stepper(model, optimizer)
    train(stepper, model, batches(10))
    by_hand(plain, plain_one, batches(10))
    assert_packed(stepper)
    assert_alike(model, optimizer, plain, plain_one)


@pytest.mark.parametrize("widths", [ODD, EVEN], ids=["odd sizes", "multiples of 32"])
@FUSED
def test_a_fused_optimizer_is_bit_for_bit_what_it_is_without_packing(
    name: str, options: dict[str, Any], widths: Sequence[int]
) -> None:
    # torch's fused kernels round the last elements of a tensor, those that fill no register,
    # otherwise than the rest: in a pack, other elements are the last.
    results = []
    for pack in (True, False):
        model = layers(widths)
        optimizer = make(name, options | {"fused": True}, model)
        train(Stepper(model, optimizer, pack=pack), model, batches(30, widths))
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


@pytest.mark.parametrize("widths", [ODD, EVEN], ids=["odd sizes", "multiples of 32"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"momentum": 0.9}),
        ("Adam", {"weight_decay": 0.1}),
        ("RMSprop", {"centered": True, "momentum": 0.9}),
        ("AdamW", {}),
    ],
)
def test_bfloat16_is_bit_for_bit_what_it_is_without_packing(
    name: str, options: dict[str, Any], widths: Sequence[int]
) -> None:
    results = []
    for pack in (True, False):
        model = layers(widths, dtype=torch.bfloat16)
        optimizer = make(name, options, model)
        stepper = Stepper(model, optimizer, pack=pack)
        train(stepper, model, batches(30, widths, dtype=torch.bfloat16))
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_clipping_by_norm_moves_packed_weights_by_no_more_than_a_rounding(
    dtype: torch.dtype, accumulate: int
) -> None:
    # The norm of a pack is summed in another order, and may be off in its last bit.
    results = []
    for pack in (True, False):
        model = layers(dtype=dtype)
        stepper = Stepper(
            model, adamw(model.parameters()), accumulate=accumulate, clip_norm=0.1, pack=pack
        )
        train(stepper, model, batches(30, dtype=dtype))
        results.append(model.state_dict())
    few = 64 * torch.finfo(dtype).eps
    for one, other in zip(*(each.values() for each in results), strict=True):
        torch.testing.assert_close(one, other, rtol=few, atol=few)


def test_clipping_by_value_is_bit_for_bit_what_it_is_without_packing() -> None:
    results = []
    for pack in (True, False):
        model = layers()
        optimizer = adamw(model.parameters())
        stepper = Stepper(model, optimizer, accumulate=3, clip_value=0.01, pack=pack)
        train(stepper, model, batches(30))
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


def test_groups_with_options_of_their_own_keep_them() -> None:
    def several(parameters: Iterable[nn.Parameter]) -> Optimizer:
        each = list(parameters)
        return optim.AdamW(
            [
                {"params": each[:3], "weight_decay": 0.5, "amsgrad": True},
                {"params": each[3:6], "betas": (0.5, 0.5), "foreach": True},
                {"params": each[6:], "lr": 1.0},
            ],
            lr=0.01,
        )

    check(lambda model, optimizer: None, several)


# State ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["in memory", "deepcopy", "torch.save"])
@pytest.mark.parametrize("name", list(CASES))
def test_a_plain_optimizer_goes_on_with_the_state_of_a_packed_one(name: str, way: str) -> None:
    model, plain = layers(), layers(seed=5)
    optimizer, plain_one = make(name, {}, model), make(name, {}, plain)
    stepper = Stepper(model, optimizer)
    train(stepper, model, batches(4))
    assert_packed(stepper)
    state: Any = optimizer.state_dict()
    if way == "deepcopy":
        state = copy.deepcopy(state)
    elif way == "torch.save":
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        state = torch.load(file, weights_only=True)
    plain.load_state_dict(copy.deepcopy(model.state_dict()))
    plain_one.load_state_dict(state)
    by_hand(plain, plain_one, batches(4, seed=2))

    expected = layers()
    all_by_hand = make(name, {}, expected)
    by_hand(expected, all_by_hand, batches(4) + batches(4, seed=2))
    assert_alike(plain, plain_one, expected, all_by_hand)


def test_copies_and_pickles_of_model_and_optimizer_go_on_like_the_original() -> None:
    model = layers()
    optimizer = adamw(model.parameters())
    stepper = Stepper(model, optimizer)
    train(stepper, model, batches(3))
    assert_packed(stepper)
    file = io.BytesIO()
    torch.save((model, optimizer), file)
    file.seek(0)
    for other, its in (copy.deepcopy((model, optimizer)), torch.load(file, weights_only=False)):
        by_hand(other, its, batches(3, seed=2))
        expected, optimizers = copy.deepcopy((model, optimizer))
        by_hand(expected, optimizers, batches(3, seed=2))
        assert_alike(other, its, expected, optimizers)
    train(stepper, model, batches(3, seed=2))
    assert_alike(model, optimizer, other, its)


def size(thing: object) -> int:
    file = io.BytesIO()
    torch.save(thing, file)
    return file.tell()


def test_a_saved_state_dict_is_no_larger_than_without_packing() -> None:
    model = layers()
    optimizer = adamw(model.parameters())
    before = size(model.state_dict())
    stepper = Stepper(model, optimizer)
    train(stepper, model, batches(3))
    assert_packed(stepper)
    assert size(model.state_dict()) <= before
    assert size(optimizer.state_dict()) <= size(copy.deepcopy(optimizer.state_dict())) * 1.1


@pytest.mark.parametrize("what", ["weight", "state"])
def test_one_layer_saved_alone_takes_no_more_than_its_pack_along(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "PACK", 2**12)
    model = layers((64, 64, 64, 64, 64, 2))
    optimizer = adamw(model.parameters())
    stepper = Stepper(model, optimizer)
    train(stepper, model, batches(2, (64, 2)))
    assert_packed(stepper)
    head = model[-1]
    assert isinstance(head, nn.Linear)
    saved: Any = head.state_dict() if what == "weight" else optimizer.state[head.bias]
    alone = {key: value.clone() for key, value in saved.items()}
    buffers = 1 if what == "weight" else 2
    assert size(saved) < size(alone) + buffers * 4 * 2**12 + 4096


# What people do in between --------------------------------------------------------------------


def check(
    deed: Deed,
    make_optimizer: Make = adamw,
    *,
    accumulate: int = 1,
    dtype: torch.dtype = torch.float32,
    widths: Sequence[int] = ODD,
) -> None:
    """After the deed, all goes on as with pack=False."""
    results = []
    for pack in (True, False):
        model = layers(widths, dtype=dtype)
        optimizer = make_optimizer(model.parameters())
        stepper = Stepper(model, optimizer, accumulate=accumulate, pack=pack)
        train(stepper, model, batches(2 * accumulate + 1, widths, dtype=dtype))
        assert bool(stepper.plan().packs) is pack
        deed(model, optimizer)
        now = next(model.parameters()).dtype
        train(stepper, model, batches(3 * accumulate, widths, seed=2, dtype=now))
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


def third(model: nn.Module) -> nn.Parameter:
    return list(model.parameters())[2]


def linear(model: Layers, at: int) -> nn.Linear:
    layer = model[at]
    assert isinstance(layer, nn.Linear)
    return layer


def freeze_one(model: Layers, _: Optimizer) -> None:
    third(model).requires_grad_(False)


def freeze_all_but_one(model: Layers, _: Optimizer) -> None:
    model.requires_grad_(False)
    third(model).requires_grad_(True)


def add_a_group(model: Layers, optimizer: Optimizer) -> None:
    model.register_parameter("late", nn.Parameter(torch.ones(5)))
    optimizer.add_param_group({"params": [model.late], "lr": 0.5})


def give_other_data(model: Layers, _: Optimizer) -> None:
    third(model).data = torch.full_like(third(model), 0.1)


def load_other_weights(model: Layers, _: Optimizer) -> None:
    model.load_state_dict(layers(seed=9).state_dict())


def load_through_a_vector(model: Layers, _: Optimizer) -> None:
    vector_to_parameters(
        parameters_to_vector(model.parameters()).detach() * 1.1, model.parameters()
    )


def load_its_own_state(_: Layers, optimizer: Optimizer) -> None:
    optimizer.load_state_dict(optimizer.state_dict())


def load_a_copy_of_its_state(_: Layers, optimizer: Optimizer) -> None:
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def clear_state(_: Layers, optimizer: Optimizer) -> None:
    optimizer.state.clear()


def delete_state_of_one(model: Layers, optimizer: Optimizer) -> None:
    optimizer.state.pop(third(model), None)


def zero_state_of_one(model: Layers, optimizer: Optimizer) -> None:
    for value in optimizer.state[third(model)].values():
        if isinstance(value, Tensor) and value.dim():
            value.zero_()


def assign_state_of_one(model: Layers, optimizer: Optimizer) -> None:
    state = optimizer.state[third(model)]
    for key, value in state.items():
        if isinstance(value, Tensor) and value.dim():
            state[key] = torch.zeros_like(value)


def give_state_of_one_other_data(model: Layers, optimizer: Optimizer) -> None:
    for value in optimizer.state[third(model)].values():
        if isinstance(value, Tensor) and value.dim():
            value.data = torch.ones_like(value)


def replace_state_of_one(model: Layers, optimizer: Optimizer) -> None:
    optimizer.state[third(model)] = copy.deepcopy(optimizer.state[third(model)])


def restart_all_step_counts(model: Layers, optimizer: Optimizer) -> None:
    for p in model.parameters():
        if "step" in optimizer.state[p]:
            optimizer.state[p]["step"].zero_()


def restart_one_step_count(model: Layers, optimizer: Optimizer) -> None:
    if "step" in optimizer.state[third(model)]:
        optimizer.state[third(model)]["step"].zero_()


def assign_one_step_count(model: Layers, optimizer: Optimizer) -> None:
    if "step" in optimizer.state[third(model)]:
        optimizer.state[third(model)]["step"] = torch.tensor(1.0)


def change_options(_: Layers, optimizer: Optimizer) -> None:
    group = optimizer.param_groups[0]
    group["lr"] = 0.1
    group["weight_decay"] = 0.5
    if "betas" in group:
        group["betas"] = (0.5, 0.6)
    else:
        group["momentum"] = 0.3


def replace_the_group(_: Layers, optimizer: Optimizer) -> None:
    optimizer.param_groups[0] = dict(optimizer.param_groups[0])


def split_the_group(_: Layers, optimizer: Optimizer) -> None:
    group = optimizer.param_groups[0]
    second = dict(group, params=group["params"][3:], lr=0.5)
    group["params"] = group["params"][:3]
    optimizer.param_groups.append(second)


def step_by_hand(model: Layers, optimizer: Optimizer) -> None:
    by_hand(model, optimizer, batches(3, seed=7, dtype=third(model).dtype))


def step_all_but_one_by_hand(model: Layers, optimizer: Optimizer) -> None:
    torch.autograd.backward(mse(model, batches(1, seed=7)[0]))
    third(model).grad = None
    optimizer.step()
    optimizer.zero_grad()


def watch_the_steps(_: Layers, optimizer: Optimizer) -> None:
    optimizer.register_step_post_hook(lambda *_: None)


DEEDS = [
    freeze_one,
    freeze_all_but_one,
    add_a_group,
    give_other_data,
    load_other_weights,
    load_through_a_vector,
    load_its_own_state,
    load_a_copy_of_its_state,
    clear_state,
    delete_state_of_one,
    zero_state_of_one,
    assign_state_of_one,
    give_state_of_one_other_data,
    replace_state_of_one,
    restart_all_step_counts,
    restart_one_step_count,
    assign_one_step_count,
    change_options,
    replace_the_group,
    split_the_group,
    step_by_hand,
    step_all_but_one_by_hand,
    watch_the_steps,
]


@pytest.mark.parametrize("make_optimizer", [sgd, momentum, adamw], ids=lambda each: each.__name__)
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_what_people_do_between_windows_counts_as_it_does_without_packing(
    deed: Deed, make_optimizer: Make
) -> None:
    check(deed, make_optimizer, accumulate=2)


INSIDE = [add_a_group, load_its_own_state, give_other_data, replace_the_group, change_options]


@pytest.mark.parametrize("make_optimizer", [sgd, adamw], ids=lambda each: each.__name__)
@pytest.mark.parametrize("deed", INSIDE, ids=lambda deed: deed.__name__)
def test_what_people_do_inside_a_window_before_it_is_flushed_counts_as_without_packing(
    deed: Deed, make_optimizer: Make
) -> None:
    results = []
    for pack in (True, False):
        model = layers()
        optimizer = make_optimizer(model.parameters())
        stepper = Stepper(model, optimizer, accumulate=2, pack=pack)
        train(stepper, model, batches(4))
        stepper.backward(mse(model, batches(1, seed=2)[0]))
        deed(model, optimizer)
        assert stepper.flush()
        train(stepper, model, batches(4, seed=3))
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


def test_a_parameter_that_changes_its_group_takes_the_options_of_the_new_one() -> None:
    results = []
    for pack in (True, False):
        model = layers()
        each = list(model.parameters())
        groups: list[dict[str, Any]] = [{"params": each[:4]}, {"params": each[4:], "lr": 0.1}]
        optimizer = optim.AdamW(groups, lr=0.01)
        stepper = Stepper(model, optimizer, pack=pack)
        train(stepper, model, batches(3))
        first, second = optimizer.param_groups
        first["params"], second["params"] = each[:2], each[2:]
        train(stepper, model, batches(3))
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (torch.float32, torch.float64),
        (torch.float32, torch.float16),
        (torch.float32, torch.bfloat16),
        (torch.float64, torch.float32),
    ],
    ids=str,
)
def test_a_model_that_is_cast_between_windows_loses_no_digit(
    before: torch.dtype, after: torch.dtype
) -> None:
    check(lambda model, _: model.to(after), sgd, dtype=before)


def test_a_model_that_leaves_16_bits_between_windows_loses_no_digit() -> None:
    check(lambda model, _: model.to(torch.float32), sgd, dtype=torch.bfloat16, widths=(32, 32, 32))


def test_a_weight_that_is_transposed_in_place_gets_its_own_gradient() -> None:
    def transpose(model: Layers, _: Optimizer) -> None:
        third(model).data = third(model).data.t()

    check(transpose, sgd, widths=(5, 6, 6, 3))


def test_a_layer_that_is_cut_down_goes_on() -> None:
    def cut(model: Layers, _: Optimizer) -> None:
        first, second = linear(model, 0), linear(model, 2)
        first.weight.data = first.weight.data[:4]
        first.bias.data = first.bias.data[:4]
        second.weight.data = second.weight.data[:, :4]

    check(cut, sgd, widths=(5, 6, 3))


def test_two_weights_that_exchange_their_memory_stay_exchanged() -> None:
    def exchange(model: Layers, _: Optimizer) -> None:
        one, other = linear(model, 0).weight, linear(model, 2).weight
        one.data, other.data = other.data, one.data

    check(exchange, momentum, widths=(5, 5, 5, 3))


def test_two_weights_that_are_given_one_memory_stay_tied() -> None:
    def tie(model: Layers, _: Optimizer) -> None:
        linear(model, 0).weight.data = linear(model, 2).weight.data

    check(tie, sgd, widths=(5, 5, 5, 3))


# Others who hold the memory -------------------------------------------------------------------


def regroup(model: Layers, stepper: Stepper) -> None:
    """Something that makes the Stepper pack anew."""
    third(model).requires_grad_(False)
    train(stepper, model, batches(2))


@pytest.mark.parametrize("when", ["before packing", "after packing"])
def test_views_of_the_weights_that_people_hold_go_on_showing_them(when: str) -> None:
    model = layers()
    stepper = Stepper(model, adamw(model.parameters()))
    if when == "after packing":
        train(stepper, model, batches(3))
        assert_packed(stepper)
    held = model.state_dict()
    array = linear(model, 0).weight.detach().numpy()
    train(stepper, model, batches(3))
    assert_equal(dict(held), dict(model.state_dict()))
    regroup(model, stepper)
    assert_equal(dict(held), dict(model.state_dict()))
    assert (array == linear(model, 0).weight.detach().numpy()).all()


@pytest.mark.parametrize("when", ["before packing", "after packing"])
def test_views_of_the_state_that_people_hold_go_on_showing_it(when: str) -> None:
    model = layers()
    optimizer = adamw(model.parameters())
    by_hand(model, optimizer, batches(1))
    stepper = Stepper(model, optimizer)
    if when == "after packing":
        train(stepper, model, batches(3))
        assert_packed(stepper)
    held = optimizer.state_dict()["state"]
    moments = [optimizer.state[p]["exp_avg"] for p in model.parameters()]
    train(stepper, model, batches(3))
    assert_equal(held, optimizer.state_dict()["state"])
    assert_equal(moments, [optimizer.state[p]["exp_avg"] for p in model.parameters()])
    regroup(model, stepper)
    assert_equal(held, optimizer.state_dict()["state"])
    assert_equal(moments, [optimizer.state[p]["exp_avg"] for p in model.parameters()])


@pytest.mark.parametrize("when", ["before packing", "after packing"])
def test_weights_in_shared_memory_stay_there(when: str) -> None:
    model = layers()
    stepper = Stepper(model, adamw(model.parameters()))
    if when == "after packing":
        train(stepper, model, batches(3))
        assert_packed(stepper)
    model.share_memory()
    elsewhere = [p.detach() for p in model.parameters()]
    train(stepper, model, batches(3))
    assert all(p.untyped_storage().is_shared() for p in model.parameters())
    assert_equal(elsewhere, [p.detach() for p in model.parameters()])


def test_worker_processes_start_after_packing_and_change_nothing() -> None:
    xs, ys = (torch.cat(each) for each in zip(*batches(3), strict=True))
    results = []
    for pack in (True, False):
        model = layers()
        stepper = Stepper(model, adamw(model.parameters()), pack=pack)
        train(stepper, model, batches(3))
        loader: Iterable[Any] = DataLoader(
            TensorDataset(xs, ys), batch_size=4, num_workers=1, multiprocessing_context="fork"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # forking in a process with threads
            train(stepper, model, loader)
        results.append((model, stepper))
    assert_alike(results[0][0], sgd(model.parameters()), results[1][0])


def test_a_plain_loop_goes_on_where_a_stepper_was_deleted() -> None:
    results = []
    for pack in (True, False):
        model = layers()
        optimizer = optim.NAdam(model.parameters(), lr=0.01)
        stepper = Stepper(model, optimizer, pack=pack)
        train(stepper, model, batches(3))
        del stepper
        gc.collect()
        by_hand(model, optimizer, batches(5))
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


def test_another_stepper_packs_what_a_deleted_one_had_packed() -> None:
    model = layers()
    optimizer = adamw(model.parameters())
    stepper = Stepper(model, optimizer)
    train(stepper, model, batches(3))
    assert_packed(stepper)
    del stepper
    gc.collect()
    stepper = Stepper(model, optimizer, accumulate=2)
    train(stepper, model, batches(3))
    assert_packed(stepper)


def test_two_steppers_take_turns_with_one_optimizer() -> None:
    results = []
    for pack in (True, False):
        model = layers()
        optimizer = adamw(model.parameters())
        both = [Stepper(model, optimizer, pack=pack) for _ in range(2)]
        for i, batch in enumerate(batches(12)):
            if i == 6:
                third(model).requires_grad_(False)
            both[i % 2].backward(mse(model, batch))
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


def test_an_averaged_model_follows_the_packed_one() -> None:
    results = []
    for pack in (True, False):
        model = layers()
        stepper = Stepper(model, adamw(model.parameters()), pack=pack)
        average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))  # type: ignore[no-untyped-call]
        for batch in stepper.over(batches(6)):
            stepper.backward(mse(model, batch))
            average.update_parameters(model)
        results.append(average)
    assert_alike(results[0], sgd(model.parameters()), results[1])


def test_other_threads_may_train_one_after_another() -> None:
    results = []
    for pack in (True, False):
        model = layers()
        stepper = Stepper(model, adamw(model.parameters()), pack=pack)
        for _ in range(3):
            thread = threading.Thread(target=train, args=(stepper, model, batches(4)))
            thread.start()
            thread.join()
        assert stepper.updates == 12
        results.append(model)
    assert_alike(results[0], sgd(model.parameters()), results[1])


def test_two_threads_train_two_models_at_the_same_time() -> None:
    models = [layers(seed=seed) for seed in range(2)]
    threads = [
        threading.Thread(
            target=train, args=(Stepper(model, adamw(model.parameters())), model, batches(20))
        )
        for model in models
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, model in enumerate(models):
        alone = layers(seed=seed)
        train(Stepper(alone, adamw(alone.parameters())), alone, batches(20))
        assert_alike(model, sgd(model.parameters()), alone)


# Graphs and hooks -----------------------------------------------------------------------------


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("pack", [True, False])
def test_a_graph_that_outlives_a_step_is_refused_as_in_the_plain_loop(
    pack: bool, watched: bool
) -> None:
    model = layers()
    optimizer = sgd(model.parameters())
    if watched:
        optimizer.register_step_post_hook(lambda *_: None)
    stepper = Stepper(model, optimizer, pack=pack)
    train(stepper, model, batches(3))
    loss = mse(model, batches(1)[0])
    stepper.backward(loss, retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        stepper.backward(loss * 2)


def test_hooks_on_parameters_see_and_change_what_they_do_without_packing() -> None:
    results = []
    for pack in (True, False):
        model = layers()
        optimizer = momentum(model.parameters())
        stepper = Stepper(model, optimizer, accumulate=2, pack=pack)
        train(stepper, model, batches(4))
        seen: list[Tensor] = []

        def change(p: Tensor, seen: list[Tensor] = seen) -> None:
            assert p.grad is not None
            seen.append(p.grad.clone())
            p.grad.mul_(3)

        hooked: list[Any] = [linear(model, 0).weight, linear(model, 2).weight]
        hooked[0].register_hook(lambda grad: grad * 2)
        hooked[1].register_post_accumulate_grad_hook(change)
        train(stepper, model, batches(4))
        assert len(seen) == 4
        results.append((model, optimizer, seen))
    assert_alike(*results[0][:2], *results[1][:2])
    assert_equal(results[0][2], results[1][2])


def test_hooks_on_the_step_see_the_parameters_and_their_gradients() -> None:
    results = []
    for pack in (True, False):
        model = layers()
        optimizer = momentum(model.parameters())
        stepper = Stepper(model, optimizer, pack=pack)
        train(stepper, model, batches(3))
        seen: list[list[Tensor | None]] = []

        def look(optimizer: Optimizer, *_: object, seen: Any = seen) -> None:
            seen.append([p.grad.clone() for p in optimizer.param_groups[0]["params"]])

        before = optimizer.register_step_pre_hook(look)
        after = optimizer.register_step_post_hook(look)
        train(stepper, model, batches(2))
        before.remove()
        after.remove()
        train(stepper, model, batches(2))
        results.append((model, optimizer, seen))
    assert_alike(*results[0][:2], *results[1][:2])
    assert_equal(results[0][2], results[1][2])


def test_a_step_that_people_have_wrapped_sees_the_parameters() -> None:
    model = layers()
    optimizer = momentum(model.parameters())
    stepper = Stepper(model, optimizer)
    train(stepper, model, batches(3))
    assert_packed(stepper)
    step, seen = optimizer.step, []

    def wrapped(*args: Any, **options: Any) -> Any:
        seen.append([tuple(p.shape) for p in optimizer.param_groups[0]["params"]])
        return step(*args, **options)

    optimizer.step = wrapped  # type: ignore[method-assign]
    train(stepper, model, batches(1))
    assert seen == [[tuple(p.shape) for p in model.parameters()]]


# Parameters of all kinds, and why they are not packed -------------------------------------------


class Marked(nn.Parameter):
    """A user's own kind."""


class Odd(nn.Module):
    """Parameters of every kind that is not packed, and two that are."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Parameter(torch.ones(1))
        self.another = nn.Parameter(torch.full((1,), 2.0))
        self.scalar = nn.Parameter(torch.tensor(1.0))
        self.empty = nn.Parameter(torch.zeros(0))
        self.turned = nn.Parameter(torch.randn(3, 4).t())
        self.marked = Marked(torch.ones(2))
        self.large = nn.Parameter(torch.ones(2**16 + 1))
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        self.wide = nn.Parameter(torch.ones(2, dtype=torch.float64))
        self.held = nn.Parameter(torch.ones(2))
        self.absent = nn.Parameter(torch.ones(2))
        self.rows = torch.ones(2, 2)
        self.shared = nn.Parameter(self.rows[0])
        self.count = 0

    def forward(self) -> Tensor:
        self.count += 1
        each = [p.float().square().sum() for name, p in self.named_parameters() if name != "absent"]
        if self.count % 2:
            each.append(self.absent.square().sum())
        return torch.stack(each).sum()


def test_parameters_of_every_kind_move_as_without_packing_and_the_plan_says_why() -> None:
    results = []
    for pack in (True, False):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = Odd()
        held = model.held.detach()
        optimizer = momentum(model.parameters())
        stepper = Stepper(model, optimizer, pack=pack)
        for _ in range(6):
            stepper.backward(model())
        assert torch.equal(held, model.held)
        results.append((model, optimizer, stepper.plan()))
    assert_alike(*results[0][:2], *results[1][:2])
    packed, loose = results[0][2], results[1][2]
    assert packed.packs == (("one", "another"),)
    said = {
        "scalar": "scalar, or empty",
        "empty": "scalar, or empty",
        "turned": "memory format",
        "marked": "is a Marked, not a plain parameter",
        "large": "is large",
        "frozen": "is frozen",
        "wide": "no other like it",
        "held": "something else holds its memory",
        "absent": "no gradient in some windows",
        "shared": "something else holds its memory",
    }
    assert set(packed.loose) == set(said)
    for name, why in said.items():
        assert why in packed.loose[name], (name, packed.loose[name])
        assert why in str(packed)
    assert set(loose.loose.values()) == {"pack=False"}


class Own(optim.SGD):
    """A subclass may do anything."""


@pytest.mark.parametrize(
    ("make_optimizer", "why"),
    [
        (lambda p: Own(p, lr=0.1), "Own is not known to treat every element by itself"),
        (lambda p: optim.Adafactor(p, lr=0.1), "Adafactor is not known"),
    ],
)
def test_the_plan_says_why_an_optimizer_is_not_packed(make_optimizer: Make, why: str) -> None:
    model = layers((4, 4, 4))
    stepper = Stepper(model, make_optimizer(model.parameters()))
    train(stepper, model, batches(2, (4, 4)))
    assert stepper.plan().packs == ()
    assert set(stepper.plan().loose) == {name for name, _ in model.named_parameters()}
    assert all(why in reason for reason in stepper.plan().loose.values())


def test_before_the_first_update_the_plan_says_that_packing_waits_for_it() -> None:
    model = layers()
    plan = Stepper(model, adamw(model.parameters())).plan()
    assert set(plan.loose.values()) == {"packing begins after the first update"}


def test_parameters_without_values_are_left_alone() -> None:
    model = nn.ModuleDict({"here": nn.Linear(4, 4), "nowhere": nn.Linear(4, 4, device="meta")})
    stepper = Stepper(model, momentum(model.parameters()))
    for _ in range(4):
        stepper.backward(model["here"](torch.ones(1, 4)).sum())
    assert stepper.updates == 4
    assert model["nowhere"].weight.is_meta
    assert not any("nowhere" in name for pack in stepper.plan().packs for name in pack)


def test_tied_weights_move_as_without_packing() -> None:
    results = []
    for pack in (True, False):
        model = layers((5, 5, 5, 5))
        model[4].weight = model[0].weight
        optimizer = adamw(model.parameters())
        stepper = Stepper(model, optimizer, accumulate=2, pack=pack)
        train(stepper, model, batches(8, (5, 5)))
        assert model[4].weight is model[0].weight
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


@pytest.mark.parametrize("when", ["from the start", "later"])
def test_parametrized_weights_move_as_without_packing(when: str) -> None:
    results = []
    for pack in (True, False):
        model = layers((5, 6, 3), dtype=torch.float64)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            if when == "from the start":
                spectral_norm(model[0])
                weight_norm(model[2])
            optimizer = momentum(model.parameters())
            stepper = Stepper(model, optimizer, pack=pack)
            train(stepper, model, batches(3, (5, 3), dtype=torch.float64))
            if when == "later":
                parametrize.register_parametrization(model[0], "weight", nn.Tanh())
            train(stepper, model, batches(3, (5, 3), dtype=torch.float64))
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_sparse_gradients_move_as_without_packing(name: str, accumulate: int) -> None:
    results = []
    for pack in (True, False):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            words = nn.Embedding(10, 4, sparse=True)
            model = nn.Sequential(words, nn.Linear(4, 3), nn.Linear(3, 2))
        optimizer = make(name, {"lr": 0.1}, model)
        stepper = Stepper(model, optimizer, accumulate=accumulate, pack=pack)
        for i in range(8):
            stepper.backward(model(torch.tensor([i, i + 1])).square().mean())
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


def test_parameters_without_a_gradient_in_some_windows_do_not_move_then() -> None:
    results = []
    for pack in (True, False):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = nn.ModuleDict({key: nn.Linear(4, 4) for key in "abc"})
        optimizer = adamw(model.parameters())
        stepper = Stepper(model, optimizer, accumulate=2, pack=pack)
        for i in range(24):
            hidden = model["a"](torch.full((2, 4), float(i)))
            branch = "b" if i in (4, 5, 9, 14) else "c"
            stepper.backward(model[branch](hidden).square().mean())
        results.append((model, optimizer))
    assert_alike(*results[0], *results[1])


@pytest.mark.parametrize("asked_at_once", [True, False])
def test_a_member_that_was_given_other_memory_is_not_in_its_place(
    asked_at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not asked_at_once:
        monkeypatch.setattr(packs, "_ASKED_AT_ONCE", frozenset())
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    pack = packs.Pack(optimizer, optimizer.param_groups[0], list(model.parameters()))
    assert pack.in_place()
    there = model.weight.data
    model.weight.data = there.t()
    assert not pack.in_place()
    model.weight.data = there.clone()
    assert not pack.in_place()
    model.weight.data = there
    assert pack.in_place()


def test_a_member_on_a_device_that_can_not_be_asked_is_not_in_its_place() -> None:
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    pack = packs.Pack(optimizer, optimizer.param_groups[0], list(model.parameters()))
    pack.members = [p.detach().to_sparse() for p in pack.members]
    assert not pack.in_place()
