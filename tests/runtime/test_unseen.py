"""What the auditor did not see stays with the run: in the book, the recording, the verdict."""

from __future__ import annotations

import signal
import sqlite3
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

import gradledger
from gradledger.cli import main
from gradledger.errors import RecordingError
from gradledger.ledger.unseen import Unseen
from gradledger.recording import Recording
from gradledger.report.chronicle import glimpse, told
from gradledger.runtime.audit import Audit
from gradledger.runtime.journal.unseen_counts import UnseenCounts
from tests.runtime.command_line import CommandLine, fresh

COMPILED = Unseen("weights", "the loss is compiled", 7)
SHARDED = Unseen("deposits", "they are sharded", 3, ("w", "b", "c"))

PROGRAM = """
import os, signal, torch
from gradledger.runtime.journal.journal import journals

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(2, 3)).mean().backward()
    opt.step()
    for journal in journals:
        journal.not_seen("weights", "the loss is compiled", count=2)
"""
KILLED = """
import sqlite3
file = sqlite3.connect("run.gradledger", timeout=60)
wait = "SELECT count(*) FROM remarks WHERE topic = 'unseen' AND text LIKE '%\\"count\\": 6%'"
while not file.execute(wait).fetchone()[0]:
    pass
os.kill(os.getpid(), signal.SIGKILL)
"""


def overlook(book: Audit) -> None:
    not_seen = book.journal.not_seen
    not_seen("weights", "the loss is compiled", count=3)
    not_seen("deposits", "they are sharded", names=["w", "b"])
    not_seen("weights", "the loss is compiled", count=4)
    not_seen("deposits", "they are sharded", names=["b", "c", "b"])


def test_the_book_has_it_inside_the_block_and_behind_it() -> None:
    with gradledger.audit() as book:
        assert not book.unseen
        overlook(book)
        assert book.unseen == (COMPILED, SHARDED)
    assert book.unseen == book.verdict("a test").unseen == (COMPILED, SHARDED)


def test_passes_of_distributed_autograd_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    dist_autograd: Any = import_module("torch.distributed.autograd")
    monkeypatch.setattr(dist_autograd, "backward", lambda context, losses: None)
    plain = dist_autograd.backward
    with gradledger.audit() as book:
        for _ in range(2):
            dist_autograd.backward(1, [torch.zeros(())])
    (unseen,) = book.unseen
    assert (unseen.what, unseen.count) == ("backwards", 2)
    assert dist_autograd.backward is plain


def test_deposits_that_hooks_move_out_of_grad_are_said_once_something_spends_them() -> None:
    net = nn.Linear(3, 1)
    opt = SGD(net.parameters(), lr=0.1)
    main: dict[nn.Parameter, torch.Tensor] = {}

    def move(parameter: nn.Parameter) -> None:
        assert parameter.grad is not None
        main[parameter] = main[parameter] + parameter.grad if parameter in main else parameter.grad
        parameter.grad = None

    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(move)  # type: ignore[no-untyped-call]
    with gradledger.audit() as book:
        for _ in range(3):
            for _ in range(2):
                (net(torch.ones(2, 3)).mean() / 2).backward()
            for parameter in net.parameters():
                parameter.grad = main.pop(parameter)
            opt.step()
            opt.zero_grad()
    (unseen,) = book.unseen
    assert (unseen.what, {*unseen.names}) == ("deposits", {"net.bias", "net.weight"})
    assert "a hook took it" in unseen.why
    assert not book.findings


def test_who_listens_hears_what_is_new_and_not_what_is_known() -> None:
    overlooked, heard = UnseenCounts(), list[Unseen]()
    overlooked.told.append(heard.append)
    overlooked.add("deposits", "sharded", 1, ["w"])
    overlooked.add("deposits", "sharded", 1, ["w"])
    overlooked.add("deposits", "sharded", 1, ["b", "w"])
    overlooked.add("steps", "", 2, [])
    overlooked.add("steps", "", 2, [])
    assert heard == [
        Unseen("deposits", "sharded", 1, ("w",)),
        Unseen("deposits", "sharded", 2, ("w", "b")),
        Unseen("steps", "", 2),
        Unseen("steps", "", 4),
    ]


def test_a_recording_has_it_and_so_does_all_that_is_told_of_one(tmp_path: Path) -> None:
    path = tmp_path / "run.gradledger"
    net = nn.Linear(3, 1)
    optimizer = SGD(net.parameters(), lr=0.1)
    with gradledger.audit(record=path) as book:
        overlook(book)
        net(torch.ones(2, 3)).mean().backward()
        optimizer.step()
    with Recording(path) as recording:
        assert recording.unseen() == (COMPILED, SHARDED)
        assert told(recording).verdict.unseen == (COMPILED, SHARDED)
        assert glimpse(recording).verdict.unseen == (COMPILED, SHARDED)


def test_a_remark_that_was_tampered_with_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.gradledger"
    with gradledger.audit(record=path) as book:
        overlook(book)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE remarks SET text = '{}' WHERE topic = 'unseen'")
    with Recording(path) as recording, pytest.raises(RecordingError, match="is damaged"):
        recording.unseen()


# The command ---------------------------------------------------------------------------------


def test_the_command_says_it_and_so_does_a_report_of_its_recording(
    command_line: CommandLine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, path = tmp_path / "train.py", tmp_path / "run.gradledger"
    program.write_text(PROGRAM)
    done = command_line.audited(program, "--record", str(path), "--fail-on", "unseen")
    assert (done.status, done.findings, done.verdict["balanced"]) == (1, set(), False)
    (unknown,) = done.verdict["unknown"]
    assert unknown == {"what": "weights", "why": "the loss is compiled", "count": 6, "names": []}
    assert main(["report", str(path)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("No fault found in what was seen: 6 deposits, 6 spent.")
    assert said.endswith("Not seen: the weights of 6 windows (the loss is compiled).\n")


@pytest.mark.slow
def test_a_run_that_was_killed_leaves_it_in_its_recording(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM + KILLED)
    words = ("-m", "gradledger", "run", "--record", "run.gradledger", "train.py")
    assert fresh(*words, at=tmp_path).status == -signal.SIGKILL
    with Recording(tmp_path / "run.gradledger") as recording:
        assert not recording.ended
        assert recording.unseen() == (Unseen("weights", "the loss is compiled", 6),)
