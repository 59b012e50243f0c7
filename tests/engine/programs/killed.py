"""Trains, saves often, and is killed again and again; each life goes on where the last one saved.

python killed.py FOLDER KILLS SEED: prints, as JSON, what became of it and of a run left in peace.
torch is imported once: every life is a fork.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import torch
from torch import nn, optim
from torch.amp import GradScaler
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

EPOCHS = 9
ROWS = 64
BATCH = 2
EVERY = 3
"""Micro-batches from one save to the next."""


def live(folder: Path, seed: int, out: int) -> None:
    """One life: from the last save, if there is one, to the end."""
    torch.manual_seed(seed)  # a new process has another seed
    random.seed(seed)
    model = nn.Sequential(nn.Linear(6, 12), nn.Dropout(0.3), nn.Linear(12, 12), nn.Linear(12, 2))
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    batches = EPOCHS * ROWS // BATCH
    stepper = Stepper(
        model,
        optimizer,
        accumulate=4,
        clip_norm=1.0,
        scaler=GradScaler("cpu", init_scale=16.0, growth_interval=3),
        scheduler=optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=batches),
    )
    rows = torch.Generator().manual_seed(1)
    data = TensorDataset(torch.randn(ROWS, 6, generator=rows), torch.randn(ROWS, 2, generator=rows))
    loader: DataLoader[tuple[torch.Tensor, ...]] = DataLoader(data, batch_size=BATCH, shuffle=True)

    path = folder / "checkpoint"
    if path.exists():
        stepper.load(path)
    else:
        stepper.save(path)  # the first weights are random: what is lost before here never was
    drawn = 0
    for _ in range(stepper.epoch, EPOCHS):
        for x, y in stepper.over(loader):
            x = x + 0.1 * torch.randn_like(x)
            stepper.backward((model(x) - y).square().mean(), items=len(y))
            drawn += 1
            os.write(out, b"b")
            if drawn % EVERY == 0:
                os.write(out, b"s")
                stepper.save(path)
    final = {"model": model.state_dict(), "state": optimizer.state_dict(), "rng": rng()}
    torch.save(final, folder / "final")


def rng() -> torch.Tensor:
    return torch.get_rng_state()


def born(folder: Path, seed: int) -> tuple[int, int]:
    """Forks a life. Its process id, and a pipe that gets a byte for each thing it does."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            live(folder, seed, writing)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    return child, reading


def ended(child: int, reading: int) -> int:
    """Lets it live to its end; its exit status."""
    while os.read(reading, 4096):
        pass
    os.close(reading)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def end_early(child: int, reading: int, chance: random.Random, when: str) -> str:
    """Kills it after it has done some things and a moment more. What it did last, if killed."""
    last = ""
    things = 0 if when == "start" else chance.randrange(1, 16)
    while things > 0 or (when == "s" and last != "s"):
        last = os.read(reading, 1).decode()
        if not last:
            break
        things -= 1
    until = time.perf_counter() + chance.random() ** 2 * 0.006
    while time.perf_counter() < until:
        pass
    os.kill(child, signal.SIGKILL)
    while os.read(reading, 4096):
        pass
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return (last or "start") if status == -signal.SIGKILL else f"ended with {status}"


def main(folder: Path, kills: int, seed: int) -> None:
    """The peaceful run, and the other."""
    nothing = nn.Linear(1, 1)
    optim.AdamW(nothing.parameters()).state_dict()  # imports half of torch: once is enough
    chance = random.Random(seed)
    peace, war = folder / "peace", folder / "war"
    peace.mkdir()
    war.mkdir()
    statuses = [ended(*born(peace, 0))]
    deaths = []
    half_written = 0
    # Both begin with the same weights: the first life is the one that makes them.
    for life in range(kills):
        begun = (war / "checkpoint").exists()
        when = "start" if life % 9 == 4 else "s" if life % 3 == 0 else "b"
        deaths.append(end_early(*born(war, 1000 + life if begun else 0), chance, when))
        half_written += any(name.endswith(".tmp") for name in os.listdir(war))
    finished_early = (war / "final").exists()
    statuses.append(ended(*born(war, 2000)))
    a, b = (torch.load(each / "final", weights_only=True) for each in (peace, war))
    print(
        json.dumps(
            {
                "statuses": statuses,
                "deaths": deaths,
                "half written": half_written,
                "finished early": finished_early,
                "left over": sorted(os.listdir(war)),
                "differences": differences(a, b),
            }
        )
    )


def differences(a: object, b: object, where: str = "") -> list[str]:
    """Where two states are not the same, bit for bit."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return [] if torch.equal(a, b) else [where]
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return [each for key in a for each in differences(a[key], b[key], f"{where}/{key}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [x for i in range(len(a)) for x in differences(a[i], b[i], f"{where}/{i}")]
    return [] if a == b else [where]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
