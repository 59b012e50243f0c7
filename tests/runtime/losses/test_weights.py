"""What is read from a loss's graph is what torch's own gradient weighs.

Each loss stands next to the same one written out by items. The gradient of the loss, against that
of the plain mean (or sum) over the items, has the ratio that was read.
"""
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import weakref
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.nn.modules._functions import BackwardHookFunction

from gradledger.ledger.events import UNKNOWN_WEIGHT
from gradledger.runtime.losses import weights
from gradledger.runtime.losses.weights import read

ROWS, CLASSES = 6, 3
LABELS = torch.tensor([0, 1, 2, 0, 1, -100])
VALID = LABELS != -100
MASK = VALID.double()
TARGETS = torch.linspace(-1, 1, ROWS * CLASSES, dtype=torch.float64).view(ROWS, CLASSES)
ODDS = TARGETS.softmax(1)
YES_NO = (TARGETS > 0).double()
ITEM_WEIGHTS = torch.linspace(0.5, 2, ROWS, dtype=torch.float64)
CLASS_WEIGHTS = torch.tensor([0.2, 0.3, 0.8], dtype=torch.float64)

Loss = Callable[[Tensor], Tensor]


def squares(x: Tensor) -> Tensor:
    return (x - TARGETS).square()


def by_rows(x: Tensor) -> Tensor:
    return squares(x).sum(1)


def nll(x: Tensor) -> Tensor:
    """Of each valid row."""
    return -x.log_softmax(1)[VALID].gather(1, LABELS[VALID, None])[:, 0]


def smoothed(x: Tensor) -> Tensor:
    return 0.9 * nll(x) - 0.1 * x.log_softmax(1)[VALID].mean(1)


def ce(x: Tensor, **options: object) -> Tensor:
    return F.cross_entropy(x, LABELS, **options)  # type: ignore[arg-type]


MEANS: dict[str, tuple[Loss, Loss, int | None]] = {
    "mse": (lambda x: F.mse_loss(x, TARGETS), squares, 18),
    "l1": (lambda x: F.l1_loss(x, TARGETS), lambda x: (x - TARGETS).abs(), 18),
    "huber": (
        lambda x: F.huber_loss(x, TARGETS),
        lambda x: F.huber_loss(x, TARGETS, reduction="none"),
        18,
    ),
    "smooth l1": (
        lambda x: F.smooth_l1_loss(x, TARGETS),
        lambda x: F.smooth_l1_loss(x, TARGETS, reduction="none"),
        18,
    ),
    "cross entropy": (ce, nll, 5),
    "cross entropy, labels smoothed": (lambda x: ce(x, label_smoothing=0.1), smoothed, None),
    "cross entropy, labels smoothed, by four": (
        lambda x: ce(x, label_smoothing=0.1) / 4,
        smoothed,
        None,
    ),
    "cross entropy, of odds": (
        lambda x: F.cross_entropy(x, ODDS),
        lambda x: -(ODDS * x.log_softmax(1)).sum(1),
        6,
    ),
    "cross entropy, none, by the valid": (
        lambda x: ce(x, reduction="none").sum() / VALID.sum(),
        nll,
        5,
    ),
    "cross entropy, sum, by the valid": (
        lambda x: ce(x, reduction="sum") / VALID.sum(),
        nll,
        5,
    ),
    "divergence, batchmean": (
        lambda x: F.kl_div(x.log_softmax(1), ODDS, reduction="batchmean"),
        lambda x: (ODDS * (ODDS.log() - x.log_softmax(1))).sum(1),
        6,
    ),
    "binary": (
        lambda x: F.binary_cross_entropy_with_logits(x, YES_NO),
        lambda x: F.binary_cross_entropy_with_logits(x, YES_NO, reduction="none"),
        18,
    ),
    "binary, of odds": (
        lambda x: F.binary_cross_entropy(x.sigmoid(), YES_NO),
        lambda x: F.binary_cross_entropy(x.sigmoid(), YES_NO, reduction="none"),
        18,
    ),
    "margins": (
        lambda x: F.multi_margin_loss(x, LABELS.clamp(min=0)),
        lambda x: F.multi_margin_loss(x, LABELS.clamp(min=0), reduction="none"),
        6,
    ),
    "connectionist": (
        lambda x: F.ctc_loss(
            x.log_softmax(1)[:, None], torch.tensor([[1, 2]]), torch.tensor([6]), torch.tensor([2])
        ),
        lambda x: (
            F.ctc_loss(
                x.log_softmax(1)[:, None],
                torch.tensor([[1, 2]]),
                torch.tensor([6]),
                torch.tensor([2]),
                reduction="none",
            )
            / 2
        ),
        None,
    ),
    "half of a mean": (lambda x: 0.5 * F.mse_loss(x, TARGETS), squares, 18),
    "a mean by four": (lambda x: F.mse_loss(x, TARGETS) / 4, squares, 18),
    "a mean by four, given to backward": (lambda x: squares(x).mean(), squares, 18),
    "ten times, by four": (lambda x: 10 * F.mse_loss(x, TARGETS) / 4, squares, 18),
    "the mean of one number": (lambda x: F.mse_loss(x, TARGETS).mean().sum(), squares, 18),
    "by dimensions": (lambda x: squares(x).mean((0, 1)), squares, 18),
    "one dimension after the other": (lambda x: squares(x).mean(1).mean(0), squares, 6),
    "a sum by its rows": (lambda x: squares(x).sum() / ROWS, by_rows, 6),
    "sums of rows": (lambda x: by_rows(x).mean(), by_rows, 6),
    "a masked sum": (
        lambda x: (by_rows(x) * MASK).sum() / MASK.sum(),
        lambda x: by_rows(x)[VALID],
        5,
    ),
    "filled by a mask": (
        lambda x: by_rows(x).masked_fill(~VALID, 0).sum() / VALID.sum(),
        lambda x: by_rows(x)[VALID],
        5,
    ),
    "where a mask is": (
        lambda x: torch.where(VALID, by_rows(x), 0).sum() / VALID.sum(),
        lambda x: by_rows(x)[VALID],
        5,
    ),
    "picked by a mask": (lambda x: by_rows(x)[VALID].mean(), lambda x: by_rows(x)[VALID], 5),
    "a product of vectors": (
        lambda x: torch.einsum("ij,ij->", x, TARGETS) / (ROWS * CLASSES),
        lambda x: x * TARGETS,
        18,
    ),
    "a dot product": (
        lambda x: torch.dot(x[:, 0], TARGETS[:, 0]) / ROWS,
        lambda x: x[:, 0] * TARGETS[:, 0],
        6,
    ),
    "losses of parts": (
        lambda x: torch.stack([squares(x)[:3].mean(), squares(x)[3:].mean()]).mean(),
        squares,
        18,
    ),
    "losses of rows": (
        lambda x: torch.stack([row.sum() for row in squares(x)]).mean(),
        by_rows,
        6,
    ),
    "in low precision": (lambda x: squares(x).float().mean().double(), squares, 18),
    "shares of one": (
        lambda x: 0.7 * squares(x).mean() + 0.3 * squares(x).mean(),
        squares,
        18,
    ),
    "three shares of one, by four": (
        lambda x: (0.6 * squares(x).mean() + 0.3 * squares(x).mean() + 0.1 * squares(x).mean()) / 4,
        squares,
        18,
    ),
    "clamped": (lambda x: squares(x).mean().clamp(max=1e6).squeeze(), squares, 18),
}

SUMS: dict[str, tuple[Loss, Loss]] = {
    "mse": (lambda x: F.mse_loss(x, TARGETS, reduction="sum"), squares),
    "cross entropy, labels smoothed": (
        lambda x: ce(x, reduction="sum", label_smoothing=0.1),
        smoothed,
    ),
    "the mean of one number": (lambda x: squares(x).sum().mean(), squares),
    "by another number": (lambda x: squares(x).sum() / 100, squares),
    "a mean times its items": (lambda x: F.mse_loss(x, TARGETS) * 18, squares),
    "by dimensions": (lambda x: squares(x).sum((0, 1)), squares),
}


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(ROWS, CLASSES, dtype=torch.float64, requires_grad=True)


def ratio(loss: Tensor, to: Tensor, x: Tensor) -> float:
    """How many times the one gradient is the other, in all elements."""
    (one,), (other,) = torch.autograd.grad(loss, x), torch.autograd.grad(to, x)
    kept = other.abs() > 1e-12
    found = (one[kept] / other[kept]).tolist()
    assert found == pytest.approx([found[0]] * len(found), rel=1e-5)
    assert torch.all(one[~kept].abs() < 1e-12)
    return float(found[0])


@pytest.mark.parametrize("name", MEANS)
def test_a_mean_weighs_what_was_read(name: str, x: Tensor) -> None:
    loss, items, count = MEANS[name]
    made = loss(x)
    weight = read(made).weight
    assert weight.reduction == "mean"
    assert isinstance(weight.divisor, int | float)
    assert weight.factor / weight.divisor == pytest.approx(
        abs(ratio(made, items(x).mean(), x)), rel=1e-5
    )
    if count is not None:
        assert weight.items == count


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_weighs_what_was_read(name: str, x: Tensor) -> None:
    loss, items = SUMS[name]
    made = loss(x)
    weight = read(made).weight
    assert weight.reduction == "sum"
    assert isinstance(weight.divisor, int | float)
    assert weight.factor / weight.divisor == pytest.approx(ratio(made, items(x).sum(), x))


def test_the_gradient_that_a_backward_begins_with_is_a_factor(x: Tensor) -> None:
    made = squares(x).mean()
    weight = read(made, torch.tensor(0.25)).weight
    assert isinstance(weight.divisor, int | float)
    made.backward(torch.tensor(0.25, dtype=torch.float64))
    (plain,) = torch.autograd.grad(squares(x).mean(), x)
    torch.testing.assert_close(x.grad, plain / weight.divisor)


@pytest.mark.parametrize("smoothing", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("divisor", [1, 3, 4])
def test_smoothed_labels_are_no_division(smoothing: float, divisor: int, x: Tensor) -> None:
    assert read(ce(x, label_smoothing=smoothing) / divisor).weight.divisor == divisor


def test_smoothed_labels_with_weights_of_classes_are_no_division(x: Tensor) -> None:
    assert read(ce(x, label_smoothing=0.1, weight=CLASS_WEIGHTS)).weight.divisor == 1


def test_torchs_own_functions_give_out_what_they_are_given(x: Tensor) -> None:
    loss, mask = squares(x).mean(), torch.ones(3)
    for given in ((loss, x, mask), (mask, loss), (mask.bool(), loss), (x, mask, loss)):
        place = next(place for place, one in enumerate(given) if one is loss)
        passed_on = BackwardHookFunction.apply(*given)[place]
        assert read(passed_on) == read(loss)


def test_a_weighted_mean_counts_no_items(x: Tensor) -> None:
    made = (by_rows(x) * ITEM_WEIGHTS).sum() / ITEM_WEIGHTS.sum()
    weight = read(made).weight
    assert (weight.reduction, weight.divisor, weight.items) == ("mean", 1, None)


def test_a_penalty_does_not_change_the_weight(x: Tensor) -> None:
    made = (squares(x).mean() + 0.01 * x.abs().mean() + 1e-4 * x.square().sum()) / 4
    weight = read(made).weight
    assert (weight.reduction, weight.divisor, weight.factor) == ("mean", 4, 1)


def test_the_root_of_a_mean_counts_once_and_its_items_are_not_known(x: Tensor) -> None:
    weight = read(F.mse_loss(x, TARGETS).sqrt()).weight
    assert (weight.reduction, weight.divisor, weight.items) == ("mean", 1, None)
    assert read((F.mse_loss(x, TARGETS) / 4).sqrt()).weight == UNKNOWN_WEIGHT


class Anything:
    """Can be referred to weakly, as nodes can not."""


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:
        return 2 * grad


def test_what_can_not_be_read_says_why(x: Tensor) -> None:
    assert read(Doubled.apply(squares(x).mean())).why == weights.CUSTOM
    assert read(squares(x).max()).why == weights.OTHER
    kept = squares(x).mean() / torch.tensor(2.0, dtype=torch.float64)
    kept.backward()
    assert read(F.cross_entropy(x, LABELS)).why == ""
    again = F.cross_entropy(x, LABELS)
    again.backward()
    assert read(again).why == weights.FREED


def test_a_compiled_loss_says_so(x: Tensor) -> None:
    compiled = torch.compile(lambda x: squares(x).mean(), backend="aot_eager")
    assert read(compiled(x)).why == weights.COMPILED


def test_a_sum_of_thousands_of_losses_can_be_read(x: Tensor) -> None:
    total = squares(x).mean()
    for _ in range(3000):
        total = total + squares(x).mean()
    assert read(total).weight.reduction == "mean"


def test_what_was_read_keeps_no_graph(x: Tensor) -> None:
    made = (by_rows(x) * MASK).sum() / MASK.sum()
    lies_in_it = Anything()
    assert made.grad_fn is not None
    made.grad_fn.metadata["lies in it"] = lies_in_it  # type: ignore[index]
    alive = weakref.ref(lies_in_it)
    found = read(made)
    del made, lies_in_it
    assert alive() is None
    assert found.weight.items == 5
