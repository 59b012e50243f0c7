"""Frameworks on several ranks: what they do only there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.torchrun import torchrun

pytestmark = pytest.mark.slow

PROGRAM = """\
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accelerator = Accelerator(cpu=True{options})
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, {length})
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
for inputs, targets in loader:
    loss = nn.functional.mse_loss(model(inputs), targets)
    accelerator.backward(loss)
    optimizer.step()
    scheduler.step()  # once for each process
    optimizer.zero_grad()
"""
SPLIT = ", dataloader_config=DataLoaderConfiguration(split_batches=True)"


def found(at: Path, **given: str) -> tuple[list[dict[str, object]], int]:
    """What an audit of two ranks finds, and the line of the scheduler's step."""
    text = PROGRAM.format(**{"options": "", "length": "4"} | given)
    text = text.replace("import Accelerator\n", "import Accelerator, DataLoaderConfiguration\n")
    at.joinpath("train.py").write_text(text, encoding="utf-8")
    words = ("gradledger", "run", "--format", "json", "--output", "verdict.json", "train.py")
    ended = torchrun(2, *words, at=at)
    assert ended.returncode == 0, ended.stderr
    verdict = json.loads(at.joinpath("verdict.json").read_text(encoding="utf-8"))
    assert (verdict["stats"]["trouble"], verdict["stats"]["ranks"]) == ("", 2)
    assert verdict["stats"]["steps"] > 0
    lines = text.splitlines()
    line = next(n for n, code in enumerate(lines, start=1) if "once for each process" in code)
    return verdict["findings"], line


def test_a_schedule_that_accelerate_runs_through_twice_as_fast_is_found(tmp_path: Path) -> None:
    (finding,), line = found(tmp_path)
    assert (finding["rule"], finding["line"]) == ("GL504", line)
    assert finding["detail"] == "moves 2 times for each step"
    assert "num_processes" in str(finding["fix"])


def test_a_schedule_that_was_made_for_as_many_processes_is_right(tmp_path: Path) -> None:
    findings, _ = found(tmp_path, length="4 * accelerator.num_processes")
    assert findings == []


def test_split_batches_move_the_schedule_once_for_each_step(tmp_path: Path) -> None:
    findings, _ = found(tmp_path, options=SPLIT)
    assert findings == []
