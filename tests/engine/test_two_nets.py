"""Two nets that train against each other do not leak into each other."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import SGD, AdamW, Optimizer

from gradledger import Stepper

from .loops import Batch, assert_same, assert_same_model, micro_batches

PACK = pytest.mark.parametrize("pack", [True, False], ids=["packed", "loose"])


class Pair:
    """A generator and a discriminator, each with its optimizer."""

    def __init__(self, *, fused: bool = False) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.g = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3)).double()
            self.d = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double()
        self.optimizers: dict[str, Optimizer] = {
            "g": AdamW(self.g.parameters(), 0.01, eps=1e-3, fused=fused),
            "d": SGD(self.d.parameters(), 0.05, momentum=0.9),
        }

    def loss(self, whose: str, batch: Batch) -> Tensor:
        """Both losses reach both nets: nobody detached anything."""
        noise, real = batch
        fake = self.d(self.g(noise))
        loss: Tensor = (
            fake.sigmoid().mean() - self.d(real).sigmoid().mean()
            if whose == "d"
            else (1 - fake).square().mean()
        )
        return loss

    def assert_same_as(self, other: Pair) -> None:
        assert_same_model(self.g, other.g)
        assert_same_model(self.d, other.d)
        for name, optimizer in self.optimizers.items():
            assert_same(optimizer.state_dict(), other.optimizers[name].state_dict())
        assert all(p.grad is None for net in (self.g, self.d) for p in net.parameters())


class ByHand:
    """Sums, kept by hand, of the gradients of one net and of no other."""

    def __init__(self, optimizer: Optimizer, accumulate: int, skips: Iterable[int] = ()) -> None:
        self.optimizer = optimizer
        self.parameters: list[nn.Parameter] = optimizer.param_groups[0]["params"]
        self.accumulate = accumulate
        self.skips = set(skips)
        self.window = 0
        self.clear()

    def clear(self) -> None:
        self.sums = [torch.zeros_like(p) for p in self.parameters]
        self.items = self.count = 0

    def deposit(self, grads: Iterable[Tensor], items: int) -> None:
        for total, grad in zip(self.sums, grads, strict=True):
            total += grad * items
        self.items += items
        self.count += 1
        if self.count == self.accumulate:
            self.spend()

    def backward(self, loss: Tensor, items: int) -> None:
        self.deposit(torch.autograd.grad(loss, self.parameters), items)

    def spend(self) -> None:
        if self.count and self.window not in self.skips:
            for p, total in zip(self.parameters, self.sums, strict=True):
                p.grad = total / self.items
            self.optimizer.step()
            self.optimizer.zero_grad()
        self.window += self.count > 0
        self.clear()


DATA = micro_batches(4, 1, 3, 2, 5, 6, 2)
ORDER = pytest.mark.parametrize("order", ["dg", "gd"])


@PACK
@pytest.mark.parametrize("order", ["dg", "gd", "ddg", "dgg", "gdgd"])
@pytest.mark.parametrize(("d_window", "g_window"), [(1, 1), (2, 2), (1, 3), (3, 1), (2, 3)])
def test_any_order_with_any_windows_is_right(
    d_window: int, g_window: int, order: str, pack: bool
) -> None:
    ours, theirs = Pair(), Pair()
    steppers = {
        "d": Stepper(ours.d, ours.optimizers["d"], accumulate=d_window, pack=pack),
        "g": Stepper(ours.g, ours.optimizers["g"], accumulate=g_window, pack=pack),
    }
    hands = {
        "d": ByHand(theirs.optimizers["d"], d_window),
        "g": ByHand(theirs.optimizers["g"], g_window),
    }
    for batch in DATA:
        for whose in order:
            steppers[whose].backward(ours.loss(whose, batch), items=len(batch[1]))
            hands[whose].backward(theirs.loss(whose, batch), len(batch[1]))
    for whose in "dg":
        steppers[whose].flush()
        hands[whose].spend()
    ours.assert_same_as(theirs)


@PACK
def test_one_may_go_through_its_data_within_a_window_of_the_other(pack: bool) -> None:
    ours, theirs = Pair(), Pair()
    inner = micro_batches(2, 1, 3, seed=7)
    d_stepper = Stepper(ours.d, ours.optimizers["d"], accumulate=2, pack=pack)
    g_stepper = Stepper(ours.g, ours.optimizers["g"], accumulate=2, pack=pack)
    for batch in d_stepper.over(DATA):
        for other in g_stepper.over(inner):
            g_stepper.backward(ours.loss("g", other), items=len(other[1]))
        d_stepper.backward(ours.loss("d", batch), items=len(batch[1]))
    d_hand, g_hand = ByHand(theirs.optimizers["d"], 2), ByHand(theirs.optimizers["g"], 2)
    for batch in DATA:
        for other in inner:
            g_hand.backward(theirs.loss("g", other), len(other[1]))
        g_hand.spend()
        d_hand.backward(theirs.loss("d", batch), len(batch[1]))
    d_hand.spend()
    ours.assert_same_as(theirs)
    assert (d_stepper.epoch, g_stepper.epoch) == (1, len(DATA))


@PACK
def test_clearing_the_one_between_its_windows_leaves_the_others_window_alone(pack: bool) -> None:
    ours, theirs = Pair(), Pair()
    d_stepper = Stepper(ours.d, ours.optimizers["d"], pack=pack)
    g_stepper = Stepper(ours.g, ours.optimizers["g"], accumulate=len(DATA), pack=pack)
    d_hand, g_hand = ByHand(theirs.optimizers["d"], 1), ByHand(theirs.optimizers["g"], len(DATA))
    for batch in DATA:
        ours.optimizers["d"].zero_grad()
        g_stepper.backward(ours.loss("g", batch), items=len(batch[1]))
        ours.d.zero_grad()
        d_stepper.backward(ours.loss("d", batch), items=len(batch[1]))
        ours.optimizers["d"].zero_grad()
        g_hand.backward(theirs.loss("g", batch), len(batch[1]))
        d_hand.backward(theirs.loss("d", batch), len(batch[1]))
    ours.assert_same_as(theirs)


@PACK
def test_two_losses_of_one_forward_go_to_two_nets(pack: bool) -> None:
    ours, theirs = Pair(), Pair()
    d_stepper = Stepper(ours.d, ours.optimizers["d"], accumulate=2, pack=pack)
    g_stepper = Stepper(ours.g, ours.optimizers["g"], accumulate=2, pack=pack)
    d_hand, g_hand = ByHand(theirs.optimizers["d"], 2), ByHand(theirs.optimizers["g"], 2)

    def losses(pair: Pair, batch: Batch) -> tuple[Tensor, Tensor]:
        fake = pair.d(pair.g(batch[0]))
        return (1 - fake).square().mean(), fake.sigmoid().mean() - pair.d(batch[1]).mean()

    for batch in DATA[:6]:
        n = len(batch[1])
        for_g, for_d = losses(ours, batch)
        g_stepper.backward(for_g, items=n, retain_graph=True)
        d_stepper.backward(for_d, items=n)
        for_g, for_d = losses(theirs, batch)
        g_grads = torch.autograd.grad(for_g, g_hand.parameters, retain_graph=True)
        d_grads = torch.autograd.grad(for_d, d_hand.parameters)
        g_hand.deposit(g_grads, n)
        d_hand.deposit(d_grads, n)
    ours.assert_same_as(theirs)


@PACK
def test_a_graph_through_weights_that_have_moved_since_is_refused_as_torch_does(
    pack: bool,
) -> None:
    """The discriminator's update comes between the forward and the generator's backward."""
    plain = Pair()
    for_g, for_d = plain.loss("g", DATA[0]), plain.loss("d", DATA[0])
    torch.autograd.backward(for_d)
    plain.optimizers["d"].step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.backward(for_g)

    ours = Pair()
    d_stepper = Stepper(ours.d, ours.optimizers["d"], pack=pack)
    g_stepper = Stepper(ours.g, ours.optimizers["g"], pack=pack)
    for_g, for_d = ours.loss("g", DATA[0]), ours.loss("d", DATA[0])
    assert d_stepper.backward(for_d, items=4)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        g_stepper.backward(for_g, items=4)


@PACK
def test_a_loss_reaches_its_own_net_only(pack: bool) -> None:
    pair = Pair()
    before = {name: value.clone() for name, value in pair.d.state_dict().items()}
    stepper = Stepper(pair.g, pair.optimizers["g"], pack=pack)
    for batch in stepper.over(DATA):
        stepper.backward(pair.loss("g", batch), items=len(batch[1]))
        assert all(p.grad is None for p in pair.d.parameters())
    assert_same(pair.d.state_dict(), before, exact=True)


@PACK
def test_a_gradient_by_hand_in_the_other_net_is_kept(pack: bool) -> None:
    """The other net has no Stepper: what its user put into its cells is his."""
    pair = Pair()
    stepper = Stepper(pair.g, pair.optimizers["g"], accumulate=2, pack=pack)
    torch.autograd.backward(pair.loss("d", DATA[0]), inputs=list(pair.d.parameters()))
    kept = [p.grad.clone() for p in pair.d.parameters() if p.grad is not None]
    for batch in DATA[:4]:
        stepper.backward(pair.loss("g", batch), items=len(batch[1]))
    now = [p.grad for p in pair.d.parameters()]
    assert len(kept) == len(now) == 4
    assert_same(now, kept, exact=True)


@pytest.mark.filterwarnings("ignore::gradledger.errors.StepperWarning")
@PACK
@pytest.mark.parametrize("fused", [True, False])
@ORDER
@pytest.mark.parametrize("bad", [0, 1, 4], ids=lambda i: f"overflow{i}")
def test_a_shared_scaler_serves_both_though_one_overflows(
    bad: int, order: str, fused: bool, pack: bool
) -> None:
    """The scale changes at each window of either, in the middle of a window of the other."""
    ours, theirs = Pair(fused=fused), Pair(fused=fused)
    scaler = GradScaler("cpu", init_scale=1000.0, growth_interval=1, growth_factor=1.5)
    sizes = {"d": 2, "g": 3}
    steppers = {
        "d": Stepper(ours.d, ours.optimizers["d"], accumulate=2, scaler=scaler, pack=pack),
        "g": Stepper(ours.g, ours.optimizers["g"], accumulate=3, scaler=scaler, pack=pack),
    }
    hands = {
        whose: ByHand(theirs.optimizers[whose], sizes[whose], [bad // 2] if whose == "d" else [])
        for whose in "dg"
    }
    for i, batch in enumerate(DATA):
        for whose in order:
            factor = math.inf if whose == "d" and i == bad else 1.0
            steppers[whose].backward(ours.loss(whose, batch) * factor, items=len(batch[1]))
            hands[whose].backward(theirs.loss(whose, batch), len(batch[1]))
    for whose in "dg":
        steppers[whose].flush()
        hands[whose].spend()
    ours.assert_same_as(theirs)
    assert (steppers["d"].updates, steppers["d"].skipped) == (3, 1)
    assert (steppers["g"].updates, steppers["g"].skipped) == (3, 0)
