"""Windows of passes that no loader tells of: micro-batches where the code shows it, or said."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import gradledger
from gradledger.recording import Recording
from gradledger.report.chronicle import told
from gradledger.report.counts import extent
from gradledger.runtime.backward.unknown_batches import EITHER
from tests.runtime.nursery import Audited, Nursery

BEGIN = """\
import itertools
import queue
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def draw():
    return torch.randn(4, 3), torch.randint(0, 2, (4,))


def drawn():
    while True:
        yield draw()


def data(batches):
    return [draw() for _ in range(batches)]


def loss_of(x, y):
    return nn.functional.cross_entropy(net(x), y)


"""
STEP = "optimizer.step(), optimizer.zero_grad()"

COUNTED = f"""\
for i, (x, y) in enumerate(data(16)):
    (loss_of(x, y) / 1).backward()
    if (i + 1) % 4 == 0:
        {STEP}
"""
COUNTED_BY_HAND = f"""\
seen = 0
for x, y in data(16):
    (loss_of(x, y) / 1).backward()
    seen += 1
    if seen % 4 == 0:
        {STEP}
"""
LISTED = f"""\
batches = drawn()
for step in range(4):
    window = [next(batches) for _ in range(4)]
    for x, y in window:
        (loss_of(x, y) / 1).backward()
    {STEP}
"""
APPENDED = f"""\
batches = drawn()
for step in range(4):
    window = []
    for _ in range(4):
        x, y = next(batches)
        window.append((x, y))
    for i, (x, y) in enumerate(window):
        (loss_of(x, y) / 1).backward()
    {STEP}
"""
SLICED = f"""\
batches = drawn()
for step in range(4):
    for x, y in itertools.islice(batches, 4):
        (loss_of(x, y) / 1).backward()
    {STEP}
"""
COPIED = f"""\
rows = TensorDataset(torch.randn(64, 3), torch.randint(0, 2, (64,)))
batches = iter(DataLoader(rows, batch_size=4))
while window := list(itertools.islice(batches, 4)):
    for x, y in window:
        (loss_of(x + 1, y.clone()) / 1).backward()
    {STEP}
"""
READ_AHEAD = f"""\
rows = TensorDataset(torch.randn(64, 3), torch.randint(0, 2, (64,)))
waiting = queue.Queue(8)


def feed():
    for x, y in DataLoader(rows, batch_size=4):
        waiting.put((x + 1, y.clone()))
    waiting.put(None)


threading.Thread(target=feed, daemon=True).start()
seen = 0
while (batch := waiting.get()) is not None:
    (loss_of(*batch) / 1).backward()
    seen += 1
    if seen % 4 == 0:
        {STEP}
"""
ROWS = "rows = TensorDataset(torch.randn(64, 3), torch.randint(0, 2, (64,)))\n"
CUT = f"""\
{ROWS}
for x, y in DataLoader(rows, batch_size=16):
    for i in range(0, 16, 4):
        (loss_of(x[i : i + 4] + 1, y[i : i + 4].clone()) / 1).backward()
    {STEP}
"""
SPLIT = f"""\
{ROWS}
for xs, ys in DataLoader(rows, batch_size=16):
    for x, y in zip(xs.split(4), ys.split(4)):
        (loss_of(x + 1, y.clone()) / 1).backward()
    {STEP}
"""
WINDOWS = {
    "cut out of a batch": CUT,
    "a batch that is split": SPLIT,
    "counted": COUNTED,
    "counted by hand": COUNTED_BY_HAND,
    "a list": LISTED,
    "a list that is appended to": APPENDED,
    "a slice of an iterator": SLICED,
    "copies of what was drawn ahead": COPIED,
    "copies that a thread reads ahead": READ_AHEAD,
}


def audited(text: str, at: Path, auditor: Nursery) -> Audited:
    program = at / "train.py"
    program.write_text(BEGIN + text, encoding="utf-8")
    found = auditor.audit(program)
    assert (found.error, found.trouble, found.tally.steps) == ("", "", 4)
    return found


@pytest.mark.parametrize("text", WINDOWS.values(), ids=WINDOWS)
def test_all_windows_are_counted_from_the_first_on(
    text: str, tmp_path: Path, auditor: Nursery
) -> None:
    found = audited(text, tmp_path, auditor)
    assert found.words.startswith("GL301"), found.words
    assert "adds up 4 means, none divided" in found.words
    assert found.words.endswith("(2 of 2 parameters), 4 of 4 steps")
    assert found.unseen == ()


@pytest.mark.parametrize("text", WINDOWS.values(), ids=WINDOWS)
def test_windows_that_are_divided_are_right(text: str, tmp_path: Path, auditor: Nursery) -> None:
    found = audited(text.replace("/ 1)", "/ 4)"), tmp_path, auditor)
    assert (found.words, found.unseen) == ("", ())


TASKS = f"""\
for step in range(4):
    sources = draw(), draw(), draw()
    for x, y in sources:
        (loss_of(x, y) / 1).backward()
    {STEP}
"""
COUNTED_TASKS = f"""\
total = 0
for step in range(4):
    sources = draw(), draw(), draw()
    for x, y in sources:
        (loss_of(x, y) / 1).backward()
        total += 1
        if total % 2 == 0:
            print("pass", total)
    {STEP}
"""
NOISED = f"""\
{ROWS}
for x, y in DataLoader(rows, batch_size=16):
    for kind in ("a", "b", "c"):
        (loss_of(x + torch.randn(3), y.clone()) / 1).backward()
    {STEP}
"""


RECOMPUTED = NOISED.replace(
    "for x, y in DataLoader",
    """
class Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x):
        ctx.run, ctx.x = run, x.detach().requires_grad_()
        return run(x)

    @staticmethod
    def backward(ctx, grad):
        with torch.enable_grad():
            return None, torch.autograd.grad(ctx.run(ctx.x), ctx.x, grad)[0]


def loss_of(x, y):
    return nn.functional.cross_entropy(Recomputed.apply(torch.tanh, net(x)), y)


for x, y in DataLoader""",
)


@pytest.mark.parametrize(
    "text",
    [TASKS, COUNTED_TASKS, NOISED, RECOMPUTED],
    ids=["listed", "counted", "of a loader", "recomputed"],
)
def test_what_may_be_tasks_is_no_fault_and_is_said(
    text: str, tmp_path: Path, auditor: Nursery
) -> None:
    found = audited(text, tmp_path, auditor)
    assert found.words == ""
    assert found.unseen == (f"the batches of 8 backward passes ({EITHER})",)


def test_tasks_that_are_averaged_are_right_whatever_they_are(
    tmp_path: Path, auditor: Nursery
) -> None:
    found = audited(TASKS.replace("/ 1)", "/ 3)"), tmp_path, auditor)
    assert (found.words, found.unseen) == ("", ())


def test_one_window_that_nothing_follows_is_said(tmp_path: Path, auditor: Nursery) -> None:
    text = COUNTED.replace("% 4 == 0", "== 4") + f"for _ in range(3):\n    {STEP}\n"
    found = audited(text.replace("data(16)", "data(4)"), tmp_path, auditor)
    assert "GL301" not in found.words
    assert found.unseen == (f"the batches of 3 backward passes ({EITHER})",)


def test_a_recording_has_what_was_judged_late(tmp_path: Path) -> None:
    net, path = nn.Linear(3, 1).double(), tmp_path / "run.gradledger"
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    rows = torch.randn(5, 4, 3).double().unbind()
    with gradledger.audit(record=path) as book:
        for i, x in enumerate([row.clone() for row in rows]):
            net(x).square().mean().backward()
            if (i + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
    verdict = book.verdict("a test")
    finding = next(one for one in verdict.findings if one.rule == "GL301")
    assert extent(finding, verdict).endswith("1 of 1 step")
    with Recording(path) as recording:
        again = told(recording).verdict
    assert finding in again.findings
