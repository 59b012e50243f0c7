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

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="the trackers are not there: make trackers"),
]


@pytest.mark.parametrize("name", ["wandb", "mlflow", "trackio"])
def test_a_tracker_keeps_the_norms_and_the_finding(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = subprocess.run(
        [str(PYTHON), "-m", "gradledger", "run", "--log", name, "train.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "WANDB_MODE": "offline",
            "TRACKIO_DIR": str(tmp_path / "trackio"),
            "MLFLOW_TRACKING_URI": (tmp_path / "mlruns").as_uri(),
            "MLFLOW_ALLOW_FILE_STORE": "true",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "--log ended early" not in done.stderr
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "train.py"]
    names = "\n".join(map(str, kept)).encode()
    written = b"".join(path.read_bytes() for path in kept)
    for tag in ("gradient_norm", "update_ratio", "window_deposits"):
        assert f"gradledger/{tag}/optimizer".encode() in names + written
    assert b"GL101 spent-gradient-reused" in written
