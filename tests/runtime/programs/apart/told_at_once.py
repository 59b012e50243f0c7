"""Steps on gradients that only this rank has, with nothing that could bring the ranks together."""
# mypy: ignore-errors

import os
import signal
import sqlite3
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradledger

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps = 0


def train() -> None:
    global steps
    for _ in range(5):
        with model.no_sync():
            model(torch.randn(3, 4)).square().mean().backward()
        steps += 1
        optimizer.step()
        optimizer.zero_grad()


def told(rank: int) -> bool:
    """Has what was found of this rank come to the disk?"""
    with sqlite3.connect(f"file:run.rank{rank}.gradledger?mode=ro", uri=True) as recording:
        return recording.execute("select count(*) from findings").fetchone() != (0,)


if sys.argv[1:] == ["killed"]:
    train()
    while not (told(0) and told(1)):  # torchrun ends the other one with the first
        train()
    os.kill(os.getpid(), signal.SIGKILL)
try:
    with gradledger.audit(raise_on="error"):
        train()
except gradledger.LawBroken as broken:
    print(f"{broken.finding.rule}:{broken.finding.at.line} in step {steps}", flush=True)
dist.destroy_process_group()
