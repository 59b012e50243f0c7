"""Real trackers, in their offline or local modes; in an environment of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("TRACKERS_PYTHON", ROOT / ".venv-trackers" / "bin" / "python"))

PROGRAM = """\
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(4, 2)).mean().backward()
    optimizer.step()
"""

LEFT_OVER = """\
import torch, wandb

wandb.init(project="mine")
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(5):
    (model(torch.ones(4, 2)).mean() / 2).backward()
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""

pytestmark = [
    pytest.mark.slow,  # processes that load the real trackers, and torch
    pytest.mark.skipif(not PYTHON.exists(), reason="the trackers are not there: make trackers"),
]


@pytest.mark.parametrize("name", ["wandb", "mlflow", "trackio"])
def test_a_tracker_keeps_the_norms_and_the_finding(name: str, tmp_path: Path) -> None:
    done, names, written = audited(PROGRAM, name, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--log ended early" not in done.stderr
    for tag in ("gradient_norm", "update_ratio", "window_deposits"):
        assert f"gradledger/{tag}/optimizer".encode() in names + written
    assert b"GL101 spent-gradient-reused" in written


@pytest.mark.parametrize("begins", [True, False], ids=["the program's run", "a run of its own"])
def test_wandb_keeps_what_only_the_end_shows(begins: bool, tmp_path: Path) -> None:
    program = LEFT_OVER
    if not begins:
        program = program.replace(", wandb", "").replace('wandb.init(project="mine")', "")
    done, _, written = audited(program, "wandb", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "GL203" in done.stderr
    assert "--log ended early" not in done.stderr
    assert b"GL203 " in written


def audited(
    program: str, name: str, folder: Path
) -> tuple[subprocess.CompletedProcess[str], bytes, bytes]:
    """How `gradledger run --log` ends, and the names and the contents of the files it leaves."""
    (folder / "train.py").write_text(program)
    done = subprocess.run(
        [str(PYTHON), "-m", "gradledger", "run", "--log", name, "train.py"],
        cwd=folder,
        env={
            **os.environ,
            "HOME": str(folder),
            "WANDB_MODE": "offline",
            "TRACKIO_DIR": str(folder / "trackio"),
            "MLFLOW_TRACKING_URI": (folder / "mlruns").as_uri(),
            "MLFLOW_ALLOW_FILE_STORE": "true",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    kept = [path for path in folder.rglob("*") if path.is_file() and path.name != "train.py"]
    names = "\n".join(map(str, kept)).encode()
    return done, names, b"".join(path.read_bytes() for path in kept)
