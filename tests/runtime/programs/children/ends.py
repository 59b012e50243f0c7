"""A child that comes to an end of some kind, and what it had found by then: `ends.py WAY`."""

import os
import signal
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import torch
from torch import nn


def train(steps: int) -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(torch.randn(3, 2)).square().mean().backward()
        optimizer.step()


def child(way: str) -> None:
    train(6)
    if way == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "leaves":
        os._exit(3)
    if way == "exits":
        sys.exit(4)
    if way == "raises":
        raise ValueError("boom")
    if way in ("terminated", "daemon"):
        Path("ready").touch()
        time.sleep(600)
    if way == "outlives":
        time.sleep(600)


if __name__ == "__main__":
    way = sys.argv[1]
    if way == "outlives":
        process_id = os.fork()
        if not process_id:
            for stream in (1, 2):  # nobody waits for what it says
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            child(way)
        Path("pid").write_text(str(process_id))
        while not list(Path(os.environ["TMPDIR"]).glob("gradledger-*/*.noted")):
            time.sleep(0.05)
    else:
        process = get_context("fork").Process(target=child, args=(way,), daemon=way == "daemon")
        process.start()
        if way in ("terminated", "daemon"):
            while not Path("ready").exists():
                time.sleep(0.05)
        if way == "terminated":
            process.terminate()
        if way != "daemon":
            process.join()
            print(process.exitcode)
