"""The user's optimizer stays the user's: what torch does with it by hand, the Stepper does."""

from __future__ import annotations

import copy
import inspect
import io
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from gradledger import Stepper
from gradledger.errors import GradledgerError
from tests.tiers import slow_but_some
from tests.torch_versions import OLD, made

from .loops import (
    Batch,
    Layers,
    MakeOptimizer,
    assert_same,
    assert_same_model,
    merged,
    micro_batches,
    mse,
    net,
    parameters_of,
    plain,
)

PACK = pytest.mark.parametrize("pack", [True, False], ids=["packed", "loose"])

optim = torch.optim
CASES: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"momentum": 0.9, "dampening": 0.3, "maximize": True},
        {"momentum": 0.9, "foreach": True},
        {"momentum": 0.9, "fused": True},
        {"lr": torch.tensor(0.05, dtype=torch.float64), "foreach": False},
    ],
    "Adam": [
        {},
        {"amsgrad": True, "weight_decay": 0.1},
        {"maximize": True, "decoupled_weight_decay": True, "weight_decay": 0.1},
        {"foreach": True},
        {"fused": True},
        {"fused": True, "amsgrad": True},
        {"lr": torch.tensor(0.01), "foreach": False},
    ],
    "AdamW": [{}, {"amsgrad": True}, {"foreach": True}, {"fused": True}, {"foreach": False}],
    "Adagrad": [{}, {"lr_decay": 0.1, "weight_decay": 0.1}, {"foreach": True}, {"fused": True}],
    "Adadelta": [{}, {"weight_decay": 0.1}, {"foreach": True}],
    "Adamax": [{}, {"weight_decay": 0.1}, {"foreach": True}],
    "ASGD": [{}, {"t0": 1.0, "weight_decay": 0.1}, {"foreach": True}],
    "NAdam": [{}, {"decoupled_weight_decay": True, "weight_decay": 0.1}, {"foreach": True}],
    "RAdam": [{}, {"decoupled_weight_decay": True, "weight_decay": 0.1}, {"foreach": True}],
    "RMSprop": [{}, {"centered": True, "momentum": 0.9}, {"foreach": True}],
    "Rprop": [{}, {"foreach": True}],
    "Adafactor": [{}, {"weight_decay": 0.1, "foreach": True}],
    "Muon": [{}, {"nesterov": False}],
}
"""LBFGS and SparseAdam have their own tests."""

NAMED: dict[str, MakeOptimizer] = {}
for _name, _each in CASES.items():
    for _options in _each:
        _title = "-".join([_name, *(f"{key}={value}" for key, value in _options.items())])

        def _make(
            ps: Iterable[nn.Parameter], name: str = _name, options: dict[str, Any] = _options
        ) -> Optimizer:
            return made(name, ps, copy.deepcopy(options))

        NAMED[_title] = _make

EVERY = pytest.mark.parametrize("name", NAMED)
SOME = pytest.mark.parametrize(
    "name",
    ["SGD-momentum=0.9", "AdamW", "AdamW-fused=True", "AdamW-foreach=True", "Adagrad", "Adafactor"],
)


def model_for(name: str) -> Layers:
    return net(bias=not name.startswith("Muon"))  # Muon takes matrices only


def exact(name: str, pack: bool) -> bool:
    """A fused kernel rounds the last few elements of a tensor in its own way."""
    return not (pack and "fused" in name)


def train(stepper: Stepper, model: nn.Module, data: list[Batch]) -> None:
    for batch in stepper.over(data):
        stepper.backward(mse(model, batch))


def test_no_optimizer_of_torch_is_forgotten() -> None:
    existing = {
        name
        for name, found in vars(optim).items()
        if inspect.isclass(found) and issubclass(found, Optimizer)
    }
    named = {name for name in CASES if not OLD or hasattr(optim, name)}
    assert existing - {"Optimizer", "LBFGS", "SparseAdam"} == named


@PACK
@EVERY
@pytest.mark.parametrize("accumulate", [1, 2])
def test_weights_and_state_are_those_of_the_plain_loop(
    accumulate: int, name: str, pack: bool
) -> None:
    ours, theirs = model_for(name), model_for(name)
    data = micro_batches(*[4] * 12)
    a, b = NAMED[name](ours.parameters()), NAMED[name](theirs.parameters())
    train(Stepper(ours, a, accumulate=accumulate, pack=pack), ours, data)
    plain(theirs, b, data, accumulate)
    assert_same_model(ours, theirs, exact=exact(name, pack))
    assert_same(a.state_dict(), b.state_dict(), exact=exact(name, pack))


@PACK
@EVERY
def test_state_from_a_plain_loop_goes_on_under_a_stepper(name: str, pack: bool) -> None:
    before, ours, theirs = (model_for(name) for _ in range(3))
    data = micro_batches(*[4] * 6)
    first = NAMED[name](before.parameters())
    plain(before, first, data[:3])
    a, b = NAMED[name](ours.parameters()), NAMED[name](theirs.parameters())
    stepper = Stepper(ours, a, pack=pack)
    for model, optimizer in ((ours, a), (theirs, b)):
        model.load_state_dict(through_a_file(before.state_dict()))
        optimizer.load_state_dict(through_a_file(first.state_dict()))
    train(stepper, ours, data[3:])
    plain(theirs, b, data[3:])
    assert_same_model(ours, theirs, exact=exact(name, pack))
    assert_same(a.state_dict(), b.state_dict(), exact=exact(name, pack))


@PACK
@EVERY
def test_state_from_a_stepper_goes_on_in_a_plain_loop(name: str, pack: bool) -> None:
    before, plainly, ours, theirs = (model_for(name) for _ in range(4))
    data = micro_batches(*[4] * 6)
    first, second = NAMED[name](before.parameters()), NAMED[name](plainly.parameters())
    train(Stepper(before, first, pack=pack), before, data[:3])
    plain(plainly, second, data[:3])
    a, b = NAMED[name](ours.parameters()), NAMED[name](theirs.parameters())
    ours.load_state_dict(through_a_file(before.state_dict()))
    theirs.load_state_dict(through_a_file(plainly.state_dict()))
    a.load_state_dict(through_a_file(first.state_dict()))
    b.load_state_dict(through_a_file(second.state_dict()))
    plain(ours, a, data[3:])
    plain(theirs, b, data[3:])
    assert_same_model(ours, theirs, exact=exact(name, pack))
    assert_same(a.state_dict(), b.state_dict(), exact=exact(name, pack))


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    loaded: dict[str, Any] = torch.load(file, weights_only=True)
    return loaded


@PACK
@SOME
def test_an_optimizer_that_has_stepped_already_goes_on_under_a_stepper(
    name: str, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 6)
    a, b = NAMED[name](ours.parameters()), NAMED[name](theirs.parameters())
    plain(ours, a, data[:3])
    train(Stepper(ours, a, pack=pack), ours, data[3:])
    plain(theirs, b, data)
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


@PACK
@SOME
def test_plain_steps_between_windows_are_the_users_right(name: str, pack: bool) -> None:
    """No window is open, so backward, step and clear by hand break no law."""
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 6)
    a, b = NAMED[name](ours.parameters()), NAMED[name](theirs.parameters())
    stepper = Stepper(ours, a, pack=pack)
    train(stepper, ours, data[:2])
    plain(ours, a, data[2:4])
    train(stepper, ours, data[4:])
    plain(theirs, b, data)
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


Deed: TypeAlias = Callable[[Layers, Optimizer], None]


def change_rate(_: Layers, optimizer: Optimizer) -> None:
    optimizer.param_groups[0]["lr"] *= 0.1


def change_decay(_: Layers, optimizer: Optimizer) -> None:
    optimizer.param_groups[0]["weight_decay"] = 0.3


def clear_state(_: Layers, optimizer: Optimizer) -> None:
    optimizer.state.clear()


def clear_the_state_of_one(model: Layers, optimizer: Optimizer) -> None:
    optimizer.state.pop(model[0].weight)


def halve_state_in_place(_: Layers, optimizer: Optimizer) -> None:
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, Tensor) and value.dim():
                value.mul_(0.5)


def replace_state(_: Layers, optimizer: Optimizer) -> None:
    for state in optimizer.state.values():
        for key, value in list(state.items()):
            if isinstance(value, Tensor) and value.dim():
                state[key] = value * 0.5


def set_the_count_back(_: Layers, optimizer: Optimizer) -> None:
    for state in optimizer.state.values():
        if "step" in state:
            state["step"] = torch.ones_like(state["step"])


def load_optimizer(_: Layers, optimizer: Optimizer) -> None:
    state = copy.deepcopy(optimizer.state_dict())
    for values in state["state"].values():
        for key, value in values.items():
            if isinstance(value, Tensor) and value.dim():
                values[key] = value * 0.5
    optimizer.load_state_dict(state)


def load_model(model: Layers, _: Optimizer) -> None:
    model.load_state_dict({key: value * 0.5 for key, value in model.state_dict().items()})


def load_model_by_assignment(model: Layers, _: Optimizer) -> None:
    for p in model.parameters():
        p.data = p.data * 0.5


def assign_the_data_of_one(model: Layers, _: Optimizer) -> None:
    model[0].weight.data = torch.ones_like(model[0].weight)


def copy_into_data(model: Layers, _: Optimizer) -> None:
    for p in model.parameters():
        p.data.copy_(torch.full_like(p, 0.1))


def change_in_place(model: Layers, _: Optimizer) -> None:
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(0.5).clamp_(-0.1, 0.1)


def transpose_storage(model: Layers, _: Optimizer) -> None:
    weight = model[0].weight
    weight.data = weight.data.t().contiguous().t()


def there_and_back(model: Layers, _: Optimizer) -> None:
    model.float()
    model.double()


def copy_model(model: Layers, optimizer: Optimizer) -> None:
    other = copy.deepcopy(model)
    with torch.no_grad():
        for p in other.parameters():
            p.fill_(7.0)
    copy.deepcopy(optimizer)


def freeze_one(model: Layers, _: Optimizer) -> None:
    model[0].bias.requires_grad_(False)


def split_groups(model: Layers, optimizer: Optimizer) -> None:
    group = optimizer.param_groups[0]
    other = {**group, "params": group["params"][2:], "lr": 0.002}
    group["params"] = group["params"][:2]
    optimizer.param_groups.append(other)


def remove_one(model: Layers, optimizer: Optimizer) -> None:
    del optimizer.param_groups[0]["params"][1]
    optimizer.state.pop(model[0].bias)
    model[0].bias.requires_grad_(False)


DEEDS: list[Deed] = [
    change_rate,
    change_decay,
    clear_state,
    clear_the_state_of_one,
    halve_state_in_place,
    replace_state,
    set_the_count_back,
    load_optimizer,
    load_model,
    load_model_by_assignment,
    assign_the_data_of_one,
    copy_into_data,
    change_in_place,
    transpose_storage,
    there_and_back,
    copy_model,
    freeze_one,
    split_groups,
    remove_one,
]


@PACK
@pytest.mark.parametrize(
    "name",
    slow_but_some(3, ["SGD-momentum=0.9", "AdamW", "AdamW-fused=True", "Adagrad"]),
)
@pytest.mark.parametrize("deed", DEEDS)
def test_what_the_user_does_between_updates_counts(deed: Deed, name: str, pack: bool) -> None:
    if deed is transpose_storage and "fused" in name:
        pytest.skip("torch's own fused step is wrong where weights and moments differ in strides")
    if OLD and name == "Adagrad" and deed in (clear_state, clear_the_state_of_one):
        pytest.skip(f"the Adagrad of torch {torch.__version__} can't step without its state")
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 12)
    a, b = NAMED[name](ours.parameters()), NAMED[name](theirs.parameters())
    stepper = Stepper(ours, a, accumulate=2, pack=pack)
    for part in (slice(0, 4), slice(4, 8), slice(8, 12)):
        train(stepper, ours, data[part])
        plain(theirs, b, data[part], 2)
        if part.stop == 4:
            deed(ours, a)
            deed(theirs, b)
            assert_same_model(ours, theirs)
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())
    assert stepper.updates == 6


@PACK
@pytest.mark.parametrize("deed", [change_rate, load_model, copy_into_data, assign_the_data_of_one])
def test_what_the_user_does_inside_a_window_counts(deed: Deed, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 6)
    a, b = AdamW(ours.parameters(), 0.01), AdamW(theirs.parameters(), 0.01)
    stepper = Stepper(ours, a, accumulate=2, pack=pack)
    for i, batch in enumerate(stepper.over(data)):
        stepper.backward(mse(ours, batch))
        if i == 2:
            deed(ours, a)
    for i, batch in enumerate(data):
        torch.autograd.backward(mse(theirs, batch) / 2)
        if i == 2:
            deed(theirs, b)
        if i % 2:
            b.step()
            b.zero_grad()
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


@PACK
def test_a_copy_of_the_model_does_not_move_with_it(pack: bool) -> None:
    model = net()
    data = micro_batches(4, 4)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), pack=pack)
    train(stepper, model, data[:1])
    other = copy.deepcopy(model)
    before = {name: value.clone() for name, value in other.state_dict().items()}
    train(stepper, model, data[1:])
    assert_same(other.state_dict(), before, exact=True)
    assert not torch.equal(other[0].weight, model[0].weight)


@PACK
def test_a_view_of_a_weight_that_the_user_holds_moves_with_it(pack: bool) -> None:
    """An average of the weights, a logger: they keep what `detach()` gave them."""
    model = net()
    held = model[0].weight.detach()
    row = model[0].weight.data[2]
    stepper = Stepper(model, SGD(model.parameters(), 0.1), pack=pack)
    train(stepper, model, micro_batches(4, 4))
    assert torch.equal(held, model[0].weight)
    assert torch.equal(row, model[0].weight[2])


@PACK
def test_a_state_dict_of_the_model_that_the_user_holds_moves_with_it(pack: bool) -> None:
    """As it does with plain torch: state_dict() gives references, not copies."""
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), pack=pack)
    train(stepper, model, micro_batches(4))
    held = model.state_dict()
    train(stepper, model, micro_batches(4, 4))
    assert_same(held, dict(model.named_parameters()), exact=True)


@PACK
def test_a_saved_model_is_no_larger_than_its_weights(pack: bool) -> None:
    ours, theirs = net(), net()
    stepper = Stepper(ours, AdamW(ours.parameters(), 0.1), pack=pack)
    train(stepper, ours, micro_batches(4))
    sizes = []
    for model in (ours, theirs):
        file = io.BytesIO()
        torch.save(model[0].state_dict(), file)
        sizes.append(len(file.getvalue()))
    assert sizes[0] <= sizes[1] * 1.5


@PACK
@SOME
@pytest.mark.parametrize("accumulate", [1, 2])
def test_step_hooks_are_called_once_per_update_and_see_the_gradient(
    accumulate: int, name: str, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 6)
    a, b = NAMED[name](ours.parameters()), NAMED[name](theirs.parameters())
    seen: dict[int, list[Tensor]] = {id(a): [], id(b): []}
    calls = {"pre": 0, "post": 0}

    def pre(optimizer: Optimizer, *_: Any) -> None:
        for p in parameters_of(optimizer):
            assert p.grad is not None
            seen[id(optimizer)].append(p.grad.clone())
        calls["pre"] += optimizer is a

    def post(optimizer: Optimizer, *_: Any) -> None:
        assert all(p.grad is not None for p in parameters_of(optimizer))
        calls["post"] += optimizer is a

    for optimizer in (a, b):
        optimizer.register_step_pre_hook(pre)
        optimizer.register_step_post_hook(post)
    train(Stepper(ours, a, accumulate=accumulate, pack=pack), ours, data)
    plain(theirs, b, data, accumulate)
    assert calls == {"pre": 6 // accumulate, "post": 6 // accumulate}
    assert_same(seen[id(a)], seen[id(b)])
    assert_same_model(ours, theirs)


@PACK
@SOME
def test_a_step_hook_may_change_the_gradient(name: str, pack: bool) -> None:
    def add_noise(optimizer: Optimizer, *_: Any) -> None:
        for p in parameters_of(optimizer):
            assert p.grad is not None
            p.grad.add_(0.25)

    ours, theirs = net(), net()
    data = micro_batches(*[4] * 6)
    a, b = NAMED[name](ours.parameters()), NAMED[name](theirs.parameters())
    a.register_step_pre_hook(add_noise)
    b.register_step_pre_hook(add_noise)
    train(Stepper(ours, a, accumulate=2, pack=pack), ours, data)
    plain(theirs, b, data, 2)
    assert_same_model(ours, theirs)


@PACK
def test_a_step_hook_added_later_is_called(pack: bool) -> None:
    model = net()
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer, pack=pack)
    train(stepper, model, micro_batches(4))
    calls: list[Optimizer] = []
    optimizer.register_step_post_hook(lambda found, *_: calls.append(found))
    train(stepper, model, micro_batches(4, 4))
    assert calls == [optimizer] * 2


class Signed(Optimizer):
    """A user's own optimizer, of which nobody knows what it does."""

    def __init__(self, params: Iterable[nn.Parameter], lr: float = 0.01) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    scale = p.abs().mean()  # not elementwise
                    p.sub_(p.grad / (p.grad.norm() + 1) * scale * group["lr"])


class Decayed(Adam):
    """A subclass that does more than its parent."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.mul_(1 - p.norm() * 0.01)
        return super().step(closure)


@PACK
@pytest.mark.parametrize("make", [Signed, Decayed])
def test_an_optimizer_of_the_users_own_is_stepped_as_it_is(make: MakeOptimizer, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 6)
    a, b = make(ours.parameters()), make(theirs.parameters())
    train(Stepper(ours, a, accumulate=2, pack=pack), ours, data)
    plain(theirs, b, data, 2)
    assert_same_model(ours, theirs, exact=True)
    assert_same(a.state_dict(), b.state_dict(), exact=True)


class Sam(Optimizer):
    """Sharpness-aware minimisation, as it is copied from repository to repository."""

    def __init__(self, params: Iterable[nn.Parameter], rho: float = 0.05) -> None:
        super().__init__(params, {"rho": rho})
        self.base = SGD(self.param_groups, 0.1, momentum=0.9)

    @torch.no_grad()
    def first_step(self) -> None:
        norm = torch.stack(
            [p.grad.norm() for p in parameters_of(self) if p.grad is not None]
        ).norm()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.state[p]["before"] = p.clone()
                    p.add_(p.grad * group["rho"] / (norm + 1e-12))
        self.zero_grad()

    @torch.no_grad()
    def second_step(self) -> None:
        for p in parameters_of(self):
            if p.grad is not None:
                p.copy_(self.state[p]["before"])
        self.base.step()
        self.zero_grad()

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        assert closure is not None, "SAM needs a closure"
        closure = torch.enable_grad()(closure)
        self.first_step()
        closure()
        self.second_step()


@PACK
@pytest.mark.parametrize("accumulate", [1, 2])
def test_sam_through_backward_is_refused(accumulate: int, pack: bool) -> None:
    model = net()
    before = copy.deepcopy(model.state_dict())
    data = micro_batches(4, 4)
    with pytest.raises((GradledgerError, AssertionError)):
        train(
            Stepper(model, Sam(model.parameters()), accumulate=accumulate, pack=pack), model, data
        )
    assert_same(model.state_dict(), before, exact=True)


@PACK
@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_two_steps_of_sam_are_refused_or_right(accumulate: int, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 4, 4, 4)
    b = Sam(theirs.parameters())
    for i in range(0, 4, accumulate):
        batch = merged(data[i : i + accumulate])
        torch.autograd.backward(mse(theirs, batch))
        b.first_step()
        torch.autograd.backward(mse(theirs, batch))
        b.second_step()

    def two_passes() -> None:
        stepper = Stepper(ours, Sam(ours.parameters()), accumulate=accumulate, pack=pack)
        for i in range(0, 4, accumulate):
            for batch in data[i : i + accumulate]:
                stepper.run(batch, lambda each: mse(ours, each), items=4)
        stepper.flush()

    before = copy.deepcopy(ours.state_dict())
    try:
        two_passes()
    except (GradledgerError, AssertionError):
        assert_same(ours.state_dict(), before, exact=True)
    else:
        assert_same_model(ours, theirs)


def lbfgs(ps: Iterable[nn.Parameter]) -> optim.LBFGS:
    return optim.LBFGS(ps, lr=0.5, max_iter=5, line_search_fn="strong_wolfe")


@PACK
@pytest.mark.parametrize("accumulate", [1, 2])
def test_lbfgs_is_stepped_by_run(accumulate: int, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(6, 2, 3, 5)
    b = lbfgs(theirs.parameters())
    for i in range(0, 4, accumulate):
        batch = merged(data[i : i + accumulate])

        def closure(batch: Batch = batch) -> Tensor:
            b.zero_grad()
            loss = mse(theirs, batch)
            torch.autograd.backward(loss)
            return loss

        b.step(closure)  # type: ignore[no-untyped-call]
    a = lbfgs(ours.parameters())
    stepper = Stepper(ours, a, accumulate=accumulate, pack=pack)
    losses = []
    for batch in stepper.over(data):
        losses.append(stepper.run(batch, lambda each: mse(ours, each), items=len(batch[1])))
    assert stepper.updates == 4 // accumulate
    assert_same_model(ours, theirs, tolerance=1e-9)
    assert not any(loss.requires_grad for loss in losses)
    assert all(p.grad is None for p in ours.parameters())


def test_lbfgs_through_backward_is_refused() -> None:
    model = net()
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(GradledgerError, match="run"):
        train(Stepper(model, lbfgs(model.parameters())), model, micro_batches(4))
    assert_same(model.state_dict(), before, exact=True)


@PACK
@SOME
def test_run_is_forward_and_backward_in_one(name: str, pack: bool) -> None:
    ours, same, theirs = net(), net(), net()
    data = micro_batches(4, 4, 4, 4)
    a, c, b = (NAMED[name](model.parameters()) for model in (ours, same, theirs))
    stepper = Stepper(ours, a, accumulate=2, pack=pack)
    for batch in stepper.over(data):
        expected = mse(ours, batch).detach()
        loss = stepper.run(batch, lambda each: mse(ours, each), items=4)
        assert not loss.requires_grad
        assert_same(loss.reshape(()), expected)
    other = Stepper(same, c, accumulate=2, pack=pack)
    for batch in other.over(data):
        other.run(batch, lambda each: (mse(same, each), len(each[1])))
    plain(theirs, b, data, 2)
    assert_same_model(ours, theirs)
    assert_same_model(same, theirs)


@PACK
def test_sparse_adam_is_stepped_as_torch_does(pack: bool) -> None:
    def table() -> nn.Embedding:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return nn.Embedding(9, 3, sparse=True, dtype=torch.float64)

    ours, theirs = table(), table()
    a, b = (optim.SparseAdam(each.parameters(), 0.1) for each in (ours, theirs))
    stepper = Stepper(ours, a, accumulate=2, pack=pack)
    rows = [torch.tensor([1, 1, 2]), torch.tensor([2, 3, 4]), torch.tensor([5, 5, 5])] * 2
    for each in rows:
        stepper.backward(ours(each).square().mean())
    for i, each in enumerate(rows):
        torch.autograd.backward(theirs(each).square().mean() / 2)
        if i % 2:
            b.step()  # type: ignore[no-untyped-call]
            b.zero_grad()
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


@PACK
def test_the_plan_names_every_parameter_or_counts_it(pack: bool) -> None:
    model = net()
    stepper = Stepper(model, AdamW(model.parameters(), 0.1), pack=pack)
    train(stepper, model, micro_batches(4, 4, 4))
    assert f"{4 if pack else 0} of 4 parameters" in str(stepper.plan())


@pytest.mark.parametrize("make", [Signed, Decayed, lbfgs])
def test_the_plan_says_why_nothing_was_packed(make: MakeOptimizer) -> None:
    model = net()
    optimizer = make(model.parameters())
    stepper = Stepper(model, optimizer)
    stepper.run(micro_batches(4)[0], lambda batch: mse(model, batch))
    assert type(optimizer).__name__ in str(stepper.plan())


class _Transposed(nn.Module):
    """A parameter in another memory order than the plain one, which not each loss reaches."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.first = nn.Parameter(torch.randn(3, 5, generator=generator))
        self.late = nn.Parameter(torch.randn(7, 5, generator=generator).t())

    def forward(self, x: Tensor, late: bool) -> Tensor:
        hidden = x @ self.first
        if late:
            hidden = hidden[:, :, None] * self.late
        return hidden.square().mean()


@pytest.mark.parametrize("kind", [SGD, AdamW])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_fused_optimizer_sees_a_late_gradient_in_the_order_of_its_parameter(
    kind: Any, dtype: torch.dtype
) -> None:
    ours, theirs = _Transposed().to(dtype), _Transposed().to(dtype)
    assert not ours.late.is_contiguous()
    generator = torch.Generator().manual_seed(4)
    data = [(torch.randn(4, 3, generator=generator).to(dtype), i % 2 > 0) for i in range(6)]
    optimizer = kind(theirs.parameters(), lr=0.1, fused=True)
    seen: list[tuple[int, ...]] = []
    mine = kind(ours.parameters(), lr=0.1, fused=True)
    watched: Any = ours.late
    mine.register_step_pre_hook(lambda *_: seen.append(watched.grad.stride()))
    stepper = Stepper(ours, mine, accumulate=2)
    for i, (x, late) in enumerate(data):
        stepper.backward(ours(x, late), items=4)
        torch.autograd.backward(theirs(x, late) / 2)
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()
    assert seen == [ours.late.stride()] * 3
    assert_same_model(ours, theirs, tolerance=1e-6 if dtype is torch.float32 else 0.05)


@pytest.mark.parametrize("order", [(False, True), (True, False)], ids=str)
def test_sparse_and_dense_gradients_of_one_parameter_add_up(order: tuple[bool, bool]) -> None:
    ours, theirs = (nn.Embedding(10, 4, sparse=True).double() for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    which = torch.tensor([1, 2, 3])

    def loss(model: nn.Embedding, dense: bool) -> Tensor:
        found: Tensor = model(which)
        return (found @ model.weight.T if dense else found).square().mean()

    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=2)
    for dense in stepper.over(order):
        stepper.backward(loss(ours, dense), items=3)
        torch.autograd.backward(loss(theirs, dense) / 2)
    SGD(theirs.parameters(), 0.1).step()
    assert (stepper.updates, stepper.dropped) == (1, 0)
    assert_same_model(ours, theirs)
