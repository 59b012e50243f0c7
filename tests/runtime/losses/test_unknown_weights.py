"""Windows whose weights could not be read are said, and those that need none are not."""
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from gradledger.runtime.audit import Audit, audit
from gradledger.runtime.losses import weights
from gradledger.runtime.losses.unknown_weights import FIRST, HOOKED, SEVERAL

WINDOWS = 4


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:
        return grad


def squares(model: nn.Module, x: Tensor) -> Tensor:
    return torch.square(model(x))


def train(
    loss: Callable[[nn.Module, Tensor], Tensor],
    *,
    accumulate: int = 2,
    windows: int = WINDOWS,
    prepare: Callable[[nn.Module], object] = lambda model: None,
) -> Audit:
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(4 * accumulate * windows, 3))
    model = nn.Linear(3, 1)
    prepare(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with audit() as book:
        for number, (x,) in enumerate(DataLoader(data, batch_size=4), start=1):
            loss(model, x).backward()
            if number % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
    return book


def unseen(book: Audit) -> dict[str, int]:
    entries = book.verdict("").unseen
    assert {entry.what for entry in entries} <= {"weights"}
    return {entry.why: entry.count for entry in entries}


@pytest.mark.parametrize(
    ("loss", "why"),
    [
        (lambda model, x: Same.apply(squares(model, x).mean()), weights.CUSTOM),
        (lambda model, x: squares(model, x).max(), weights.OTHER),
    ],
)
def test_each_window_of_several_counts_once(
    loss: Callable[[nn.Module, Tensor], Tensor], why: str
) -> None:
    book = train(loss)
    assert unseen(book) == {why: WINDOWS}
    assert book.findings == ()


def test_a_window_of_one_batch_needs_no_weight() -> None:
    assert unseen(train(lambda model, x: squares(model, x).max(), accumulate=1)) == {}


def test_weights_that_were_read_are_not_unseen() -> None:
    assert unseen(train(lambda model, x: squares(model, x).mean() / 2)) == {}
    assert unseen(train(lambda model, x: squares(model, x).sum())) == {}


def test_hooks_that_may_divide_are_a_reason() -> None:
    def halve(model: nn.Module) -> None:
        for parameter in model.parameters():
            parameter.register_hook(lambda grad: grad / 2)

    assert unseen(train(lambda model, x: squares(model, x).mean(), prepare=halve)) == {
        HOOKED: WINDOWS
    }


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_our_own_look_at_gradients_of_low_precision_is_no_reason(dtype: torch.dtype) -> None:
    def half(model: nn.Module, x: Tensor) -> Tensor:
        return squares(model, x.to(dtype)).mean()

    book = train(half, windows=16, prepare=lambda model: model.to(dtype))
    assert unseen(book) == {}
    (finding,) = book.findings
    assert (finding.rule, finding.count) == ("GL301", 16)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # dynamo
@pytest.mark.parametrize("whole", [False, True])
def test_a_compiled_loss_is_a_reason(whole: bool) -> None:
    compiled = torch.compile(lambda y: y.square().mean(), backend="aot_eager")
    inside = torch.compile(lambda model, x: squares(model, x).mean(), backend="aot_eager")
    book = train(inside if whole else lambda model, x: compiled(model(x)))
    assert unseen(book) == {weights.COMPILED: WINDOWS}


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # dynamo
def test_a_compiled_loss_of_data_in_a_list_is_a_reason() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss = torch.compile(lambda x: squares(model, x).mean(), backend="aot_eager")
    with audit() as book:
        for number, x in enumerate([torch.randn(4, 3) for _ in range(12)], start=1):
            loss(x).backward()
            if number % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
    assert unseen(book) == {weights.COMPILED: 3}


def test_a_compiled_model_is_none_where_the_loss_can_be_read() -> None:
    compiled: list[Callable[[Tensor], Tensor]] = []

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        if not compiled:
            compiled.append(torch.compile(model, backend="aot_eager"))
        return compiled[0](x).square().mean()

    book = train(loss)
    assert unseen(book) == {}
    assert [finding.rule for finding in book.findings] == ["GL301"]


def test_tasks_of_one_batch_need_no_weight() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with audit() as book:
        for (x,) in DataLoader(TensorDataset(torch.randn(16, 3)), batch_size=4):
            for _task in range(3):
                squares(model, x).max().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert unseen(book) == {}


def test_losses_that_begin_one_backward_together_are_a_reason() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with audit() as book:
        for number, (x,) in enumerate(DataLoader(TensorDataset(torch.randn(16, 3)), batch_size=4)):
            torch.autograd.backward([squares(model, x).mean(), model(x).abs().mean()])
            if number % 2:
                optimizer.step()
                optimizer.zero_grad()
    assert unseen(book) == {SEVERAL: 2}


def test_the_first_window_of_several_after_many_of_one_was_not_read() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with audit() as book:
        for number, (x,) in enumerate(DataLoader(TensorDataset(torch.randn(48, 3)), batch_size=1)):
            (squares(model, x).mean() / (1 if number < 40 else 4)).backward()
            if number < 40 or number % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    assert unseen(book) == {FIRST: 1}
    assert book.findings == ()
