"""After an audit, however it ended, every object that it touched is the one that was there."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.nn.modules import module
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_
from torch.optim import SGD, Optimizer, lr_scheduler, optimizer
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from gradledger.errors import LawBroken, OptionError
from gradledger.ledger.announcing import listeners
from gradledger.runtime.audit import Audit, audit
from gradledger.runtime.frameworks.stepper import Steppers
from gradledger.runtime.gradients.manual_edits import ManualEdits
from tests.tiers import slow_but_some

ROOTS = (
    Tensor,
    torch._C.TensorBase,
    nn.Module,
    Optimizer,
    lr_scheduler.LRScheduler,
    GradScaler,
    DataLoader,
    _BaseDataLoaderIter,
    DistributedDataParallel,
)


def family(root: type) -> Iterator[type]:
    yield root
    children: list[type] = type.__subclasses__(root)
    for child in children:
        yield from family(child)


def surroundings() -> dict[tuple[str, str], Any]:
    """All that a patch or a hook of an audit could change, by where it is."""
    gc.collect()  # classes of other tests are garbage, and go when they like
    found: dict[tuple[str, str], Any] = {}
    for name, loaded in list(sys.modules.items()):
        for attribute, value in list(getattr(loaded, "__dict__", {}).items()):
            if callable(value) and not attribute.startswith("last_"):
                found[name, attribute] = value
    accelerator = sys.modules["accelerate.accelerator"].Accelerator
    for cls in {cls for root in (*ROOTS, accelerator) for cls in family(root)}:
        for attribute, value in list(vars(cls).items()):
            found[f"{cls.__module__}.{cls.__qualname__} {id(cls)}", attribute] = value
    for owner in (optimizer, module):
        for attribute, value in vars(owner).items():
            if attribute.startswith("_global") and isinstance(value, dict):
                found.update({(attribute, str(key)): hook for key, hook in value.items()})
    found["sys", "trace"], found["threading", "trace"] = sys.gettrace(), threading.gettrace()
    found["os", "_exit"], found["sys", "hook"] = os._exit, sys.excepthook
    found.update({("finder", str(n)): finder for n, finder in enumerate(sys.meta_path)})
    found.update({("listener", str(n)): listener for n, listener in enumerate(listeners)})
    return found


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """What is imported on the way would look like something left behind."""
    importlib.import_module("accelerate")
    with audit():
        train()


@pytest.fixture
def before() -> dict[tuple[str, str], Any]:
    return surroundings()


def left_behind(before: dict[tuple[str, str], Any]) -> list[str]:
    now = surroundings()
    return [
        " ".join(key)
        for key in before.keys() | now.keys()
        if now.get(key, "absent") is not before.get(key, "absent")
    ]


def train(*, clears: bool = True, raises: bool = False) -> None:
    """A little of everything, gradients by hand and a caught exception included."""
    model = nn.Linear(2, 1)
    descent = SGD(model.parameters(), lr=0.1)
    schedule = lr_scheduler.StepLR(descent, 1)
    scaler = GradScaler("cpu")
    for x in DataLoader(torch.ones(4, 2), batch_size=2):  # type: ignore[arg-type]
        if clears:
            descent.zero_grad()
        scaler.scale(model(x).sum()).backward()
        scaler.unscale_(descent)
        clip_grad_norm_(model.parameters(), 1.0)
        with suppress(ZeroDivisionError):
            assert model.weight.grad is not None
            _ = 1 / (float(model.weight.grad.sum()) * 0)
        scaler.step(descent)
        scaler.update()
        schedule.step()
    if raises:
        raise KeyError


# One audit -----------------------------------------------------------------------------------


def test_an_audit_touches_what_is_compared(before: dict[tuple[str, str], Any]) -> None:
    with audit():
        train()
        changed = left_behind(before)
    for part in (
        "torch.autograd backward",
        "torch.nn.utils clip_grad_norm_",
        "torch.nn.utils.clip_grad clip_grad_norm_",
        f"{__name__} clip_grad_norm_",
        f"torch.Tensor {id(Tensor)} grad",
        f"torch.nn.modules.module.Module {id(nn.Module)} zero_grad",
        f"torch.optim.optimizer.Optimizer {id(Optimizer)} zero_grad",
        "listener 0",
        "sys trace",
        "threading trace",
    ):
        assert part in changed
    assert any("Accelerator" in part for part in changed)
    assert left_behind(before) == []


def test_nothing_is_left_where_the_program_raises(before: dict[tuple[str, str], Any]) -> None:
    with pytest.raises(KeyError), audit():
        train(raises=True)
    assert left_behind(before) == []


def test_nothing_is_left_where_a_law_is_broken(before: dict[tuple[str, str], Any]) -> None:
    with pytest.raises(LawBroken), audit(raise_on="error"):
        train(clears=False)
    assert left_behind(before) == []


def test_nothing_is_left_of_a_thread(before: dict[tuple[str, str], Any]) -> None:
    books: list[Audit] = []

    def work() -> None:
        with audit() as book:
            train()
            books.append(book)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert books[0].tally.steps == 2
    assert left_behind(before) == []


@pytest.mark.parametrize("watcher", [ManualEdits, Steppers])
def test_nothing_is_left_where_the_audit_can_not_begin(
    watcher: type, before: dict[tuple[str, str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def watch(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(watcher, "watch", watch)
        with pytest.raises(MemoryError), audit():
            pytest.fail("it began")
    assert left_behind(before) == []


def test_nothing_is_left_where_our_own_code_fails(
    before: dict[tuple[str, str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def post(*_: object) -> None:
        raise ZeroDivisionError

    with audit() as book:
        monkeypatch.setattr(book.journal, "post", post)
        train()
    assert "ZeroDivisionError" in book.verdict("a test").trouble
    assert left_behind(before) == []


def test_no_hook_is_left_on_a_parameter_that_was_followed() -> None:
    model = nn.Linear(4, 1).to(torch.bfloat16)
    descent = SGD(model.parameters(), lr=0.1)
    hooks: list[object] = []
    with audit():
        for number in range(8):
            (model(torch.ones(2, 4, dtype=torch.bfloat16)).sum() / 4).backward()
            if number % 4 == 3:
                hooks += [p._backward_hooks for p in model.parameters() if p._backward_hooks]
                descent.step()
                descent.zero_grad()
    assert hooks
    assert not any(p._backward_hooks for p in model.parameters())


def test_no_frame_is_traced_any_more(before: dict[tuple[str, str], Any]) -> None:
    with audit():
        train()
        assert sys._getframe().f_trace is not None
    assert sys._getframe().f_trace is None
    assert sys._getframe().f_trace_lines


def test_who_was_patched_in_meanwhile_stays() -> None:
    """A framework may put its own function there, and that is its own affair."""
    real = Optimizer.zero_grad

    class Late(SGD):
        pass

    def zero_grad(self: Optimizer, set_to_none: bool = True) -> None:
        real(self, set_to_none)

    with audit():
        Late.zero_grad = zero_grad  # type: ignore[method-assign]
    assert vars(Late)["zero_grad"] is zero_grad
    assert Optimizer.zero_grad is real


def test_an_audit_is_entered_once() -> None:
    book = audit()
    with book, pytest.raises(OptionError, match="entered only once"):
        book.__enter__()
    with pytest.raises(OptionError, match="entered only once"):
        book.__enter__()


# Several at a time ---------------------------------------------------------------------------


def rules(book: Audit) -> list[str]:
    return [finding.rule for finding in book.findings]


def reuses() -> None:
    train(clears=False)


def clears_by_hand_unspent() -> None:
    w = nn.Parameter(torch.ones(2))
    descent = SGD([w], lr=0.1)
    for _ in range(3):
        w.sum().backward()  # type: ignore[no-untyped-call]
        w.grad = None
    descent.zero_grad()


def survives_an_exception() -> None:
    model = nn.Linear(2, 1)
    descent = SGD(model.parameters(), lr=0.1)
    for number, x in enumerate(DataLoader(torch.ones(6, 2), batch_size=2)):  # type: ignore[arg-type]
        try:
            model(x).sum().backward()
            if number == 1:
                raise ValueError
            descent.step()
            descent.zero_grad()
        except ValueError:
            pass


@pytest.mark.parametrize(
    ("fault", "rule"),
    slow_but_some(
        3,
        [(reuses, "GL101"), (clears_by_hand_unspent, "GL201"), (survives_an_exception, "GL902")],
    ),
)
def test_audits_in_one_another_see_the_same(
    fault: Callable[[], None], rule: str, before: dict[tuple[str, str], Any]
) -> None:
    with audit() as outer:
        with audit() as inner:
            fault()
        seen = rules(inner)
    assert rules(outer) == seen == [rule]
    assert outer.tally == inner.tally
    assert left_behind(before) == []


def test_the_outer_goes_on_where_the_inner_has_ended(before: dict[tuple[str, str], Any]) -> None:
    with audit() as outer:
        with audit() as inner:
            train()
        survives_an_exception()
    assert (rules(outer), rules(inner)) == (["GL902"], [])
    assert (outer.tally.steps, inner.tally.steps) == (4, 2)
    assert left_behind(before) == []


def test_audits_that_overlap_leave_nothing_either(before: dict[tuple[str, str], Any]) -> None:
    first, second = audit(), audit()
    first.__enter__()
    train()
    second.__enter__()
    train()
    first.__exit__(None, None, None)
    reuses()
    second.__exit__(None, None, None)
    assert (rules(first), rules(second)) == ([], ["GL101"])
    assert (first.tally.steps, second.tally.steps) == (4, 4)
    assert left_behind(before) == []


def test_audits_in_two_threads_leave_nothing_either(before: dict[tuple[str, str], Any]) -> None:
    entered = threading.Barrier(2)
    left = threading.Barrier(2)

    def work(*, leaves_first: bool) -> None:
        with audit():
            entered.wait()
            train()
            if not leaves_first:
                left.wait()
        if leaves_first:
            left.wait()

    threads = [
        threading.Thread(target=work, kwargs={"leaves_first": first}) for first in (True, False)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert left_behind(before) == []
