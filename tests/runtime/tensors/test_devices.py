"""No step waits for a device because of the auditor.

There is none here, so tensors of the CPU are taken for ones that lie elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import gradledger
from gradledger.runtime.audit import Audit
from gradledger.runtime.distributed.replicas import device_fingerprint, fingerprint
from gradledger.runtime.tensors import deferred_reads as readings
from gradledger.runtime.tensors import devices
from gradledger.runtime.tensors.finiteness import spoilt

WAITS = (
    "_local_scalar_dense", "nonzero", "equal", "masked_select",
    "_amp_foreach_non_finite_check_and_unscale_",
)  # fmt: skip
"""Operations whose answer the host needs at once; of the last one, where it is kept on the CPU."""


class Counts(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations that wait, and copies from one device to another."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = function.name().partition("::")[2].partition(".")[0]
        if name == "equal" and args[0].dtype is torch.int64:
            pass  # versions, which are our own numbers
        elif name in WAITS or (name == "_to_copy" and (kwargs or {}).get("device") is not None):
            self.waits[name] += 1
        return function(*args, **(kwargs or {}))


class Copy:
    """A copy that arrives when three more have been made."""

    made = 0
    waited = 0

    def __init__(self, tensor: Tensor) -> None:
        assert tensor.dim() == 1
        Copy.made += 1
        self._number = Copy.made
        self._numbers: list[float] = tensor.tolist()

    @property
    def arrived(self) -> bool:
        return Copy.made >= self._number + 3

    def numbers(self) -> list[float]:
        Copy.waited += not self.arrived
        return self._numbers


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_forced", True)
    monkeypatch.setattr(readings, "_Copy", Copy)
    Copy.made = Copy.waited = 0


def train(
    steps: int = 20,
    *,
    batch: Callable[[int], Tensor] = lambda step: torch.ones(4, 4),
    kind: torch.dtype = torch.float32,
    drop: bool = False,
    waste: bool = False,
) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        for _ in range(2):
            given = batch(step).to(kind)
            loss = nn.functional.cross_entropy(model(given), torch.tensor([0, 1, 0, 1])) / 2
            loss.backward()  # type: ignore[no-untyped-call]
        if waste or (drop and bool(given.isnan().any())):
            optimizer.zero_grad()
            continue
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def spoilt_at(*wanted: int) -> Callable[[int], Tensor]:
    def batch(step: int) -> Tensor:
        return torch.full((4, 4), float("nan") if step in wanted else 1.0)

    return batch


def audited(**options: Any) -> Audit:
    with gradledger.audit() as book:
        train(**options)
    assert book.journal.failure is None
    return book


def told(book: Audit) -> list[tuple[object, ...]]:
    return [(f.rule, f.at.line, f.count, f.cells) for f in book.findings]


def test_a_sound_loop_waits_no_more_often_than_without_us(elsewhere: None) -> None:
    with Counts() as plain:
        train()
    Copy.made = 0
    with Counts() as counted:
        book = audited()
    assert not counted.waits - plain.waits
    assert told(book) == []
    assert (book.tally.entries, book.tally.spent) == (160, 160)
    assert Copy.made <= 20 + 1  # one for each step
    assert Copy.waited <= 3  # at the end


@pytest.mark.parametrize("wanted", [(5,), (19,)], ids=["in the middle", "at the end"])
def test_a_nan_that_is_spent_is_told_later_as_on_the_cpu(
    wanted: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = told(audited(batch=spoilt_at(*wanted)))
    assert [found[0] for found in here] == ["GL901"]
    monkeypatch.setattr(devices, "_forced", True)
    monkeypatch.setattr(readings, "_Copy", Copy)
    assert told(audited(batch=spoilt_at(*wanted))) == here


def test_only_the_parameter_that_has_one_is_named(elsewhere: None) -> None:
    good, bad = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([good, bad], lr=0.1)
    with gradledger.audit() as book:
        for step in range(4):
            factor = float("inf") if step == 3 else 1.0
            (good.sum() + factor * bad.sum()).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad()
    assert [(f.rule, f.cells, f.count) for f in book.findings] == [("GL901", frozenset({"bad"}), 1)]


def test_who_drops_what_is_not_finite_is_careful_and_who_drops_all_is_not(
    elsewhere: None,
) -> None:
    assert told(audited(batch=spoilt_at(5, 9), drop=True)) == []
    lost = audited(waste=True).findings
    assert [(finding.rule, finding.count) for finding in lost] == [("GL201", 20)]


def test_raise_on_raises_when_it_is_known(elsewhere: None) -> None:
    with pytest.raises(gradledger.LawBroken, match="GL901"), gradledger.audit(raise_on="error"):
        train(batch=spoilt_at(5))


def test_a_fused_optimizer_that_holds_back_on_the_device_is_said(elsewhere: None) -> None:
    weight = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1, fused=True)
    with gradledger.audit() as book:
        for step in range(4):
            optimizer.found_inf = torch.tensor(float(step == 2))  # type: ignore[attr-defined]
            weight.sum().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad()
    assert [(one.what, one.count) for one in book.journal.unseen] == [("steps", 1)]


@pytest.mark.slow  # so many deposits that one no longer counts
def test_low_precision_that_loses_deposits_is_told_later(elsewhere: None) -> None:
    weight = nn.Parameter(torch.ones(8, dtype=torch.bfloat16))
    optimizer = torch.optim.SGD([weight], lr=0.1, foreach=False)
    with gradledger.audit() as book, Counts() as counted:
        for _ in range(12):
            for _ in range(1200):
                (weight.sum() / 1200).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad()
    assert "GL903" in {finding.rule for finding in book.findings}
    assert not counted.waits
    assert book.journal.failure is None


def test_gradients_worked_on_by_hand_are_judged_by_their_versions(elsewhere: None) -> None:
    weight = nn.Parameter(torch.ones(8))
    with gradledger.audit() as book, Counts() as counted:
        for _ in range(6):
            (weight.sum() / 2).backward()  # type: ignore[no-untyped-call]
            with torch.no_grad():
                weight.sub_(0.1 * weight.grad)  # type: ignore[operator]
            weight.grad.zero_()  # type: ignore[union-attr]
    assert told(book) == []
    assert not counted.waits
    assert (book.tally.spent, book.tally.lost) == (6, 0)


def test_a_device_without_numbers_goes_through() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to("meta")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    with gradledger.audit(sample=1) as book:
        for _ in range(6):
            optimizer.zero_grad()
            for _ in range(2):
                loss = model(torch.ones(4, 4, device="meta")).square().mean() / 2
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for parameter in model.parameters():
                parameter.grad.mul_(0.5)  # type: ignore[union-attr]
            optimizer.step()
    assert book.journal.failure is None
    assert told(book) == []
    assert (book.tally.backwards, book.tally.steps) == (12, 6)


def test_each_gradient_has_its_own_flag() -> None:
    big = torch.full((3,), 1e30)
    empty, sparse = torch.empty(0), torch.eye(3).to_sparse()
    nan, inf = torch.tensor([1.0, float("nan")]), torch.tensor([float("-inf"), 0.0])
    assert spoilt([big, nan, inf, big]).tolist() == [0, 1, 1, 0]
    assert spoilt([big, empty, inf.double(), nan.bfloat16()]).tolist() == [0, 0, 1, 1]
    assert spoilt([big, sparse, nan]).tolist() == [0, 0, 1]


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64, torch.complex128])
def test_a_fingerprint_changes_with_any_bit_of_what_is_looked_at(kind: torch.dtype) -> None:
    one = torch.randn(300, dtype=torch.float64).to(kind)
    other = one.clone()
    other[17] = other[17] * 1.5 + 1
    assert device_fingerprint(one) == device_fingerprint(one.clone())
    assert device_fingerprint(one) != device_fingerprint(other)


def test_a_fingerprint_is_of_the_bits_however_they_lie() -> None:
    x = torch.arange(12.0).view(3, 4)
    changed = x.clone()
    changed[2, 3] += 1e-6
    assert fingerprint(x) == fingerprint(x.clone()) == fingerprint(x.t().contiguous().t())
    assert fingerprint(x) != fingerprint(changed)
    assert fingerprint(x[:, ::2]) == fingerprint(x[:, ::2].clone())
    assert fingerprint(torch.zeros(0)) == 0
