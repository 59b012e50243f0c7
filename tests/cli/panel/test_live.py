"""`gradledger run --live`, with torch, in a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradledger.cli.auditing import Auditing
from tests.cli.panel.terminal import Glass, Terminal

SCRIPT = """\
import os, sys
import torch

def wait():
    with open("go", "rb", buffering=0) as go:
        go.read(1)

model = torch.nn.Linear(2, 1, bias=False)
model.weight.data.fill_(1.0)
{made}
for epoch in range(2):
    for batch in range(20):
        print(f"\\rbatch {{batch:2}}", end="", flush=True)
        model(torch.tensor([[3.0, 4.0]])).sum().backward()
        opt.step()
    print(f"\\nepoch {{epoch}}")
wait()
print("done", file=sys.stderr)
{end}
"""
SGD = "opt = torch.optim.SGD(model.parameters(), lr=0.0)"


@pytest.fixture
def go(tmp_path: Path) -> Iterator[int]:
    os.mkfifo(tmp_path / "go")
    # Open for both ends: neither side waits for the other to open it.
    both = os.open(tmp_path / "go", os.O_RDWR)
    yield both
    os.close(both)


def run(folder: Path, *options: str, made: str = SGD, end: str = "") -> Terminal:
    (folder / "train.py").write_text(SCRIPT.format(made=made, end=end))
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "PYTHONUNBUFFERED")}
    return Terminal(
        [sys.executable, "-m", "gradledger", "run", *options, "train.py"],
        at=folder,
        columns=90,
        rows=24,
        environment={**kept, "TERM": "xterm", "OMP_NUM_THREADS": "1"},
    )


def shows_the_finding(glass: Glass) -> bool:
    """Two optimizer steps have the same finding: 39 of 40 steps spend again."""
    return any(row.split()[:2] == ["error", "GL101"] and "39 steps" in row for row in glass.rows)


@pytest.mark.slow  # a terminal of its own, and a run to look at while it trains
def test_the_panel_shows_steps_windows_norms_and_findings_and_leaves_nothing_behind(
    tmp_path: Path, go: int
) -> None:
    with run(tmp_path) as plain:
        os.write(go, b"!")
        plain.finish()
    with run(tmp_path, "--live") as live:
        live.until(shows_the_finding, "finding")
        title, heads, lane, fault = live.glass.rows[-4:]
        assert live.glass.scrolling() == (0, 19)
        os.write(go, b"!")
        assert live.finish() == plain.status == 0
    assert title.startswith("── gradledger · train.py · 1 error ───")
    assert heads.split() == ["optimizer", "steps", "steps/s", "window", "gradient", "norm"]
    # 40 times the gradient (3, 4), and none of it cleared.
    assert [lane.split()[n] for n in (0, 1, -3, -2)] == ["opt", "40", "1", "200"]
    assert lane.split()[-1].startswith("▁")
    assert fault.split() == [
        "error",
        "GL101",
        "spent-gradient-reused",
        "train.py:15",
        "39",
        "steps",
    ]
    assert "The books do not balance" in "".join(plain.glass.transcript)
    assert live.glass.transcript == plain.glass.transcript
    assert live.glass.scrolling() is None


@pytest.mark.slow
def test_ctrl_c_ends_in_the_verdict(tmp_path: Path, go: int) -> None:
    with run(tmp_path, "--live") as live:
        live.until(shows_the_finding, "finding")
        live.type(b"\x03")
        assert live.finish() == -signal.SIGINT
    shown = live.glass.transcript
    assert "KeyboardInterrupt" in shown
    assert shown.index("KeyboardInterrupt") < shown.index("The books do not balance: 1 error.")
    assert not any("gradledger ·" in row for row in shown)
    assert live.glass.scrolling() is None


@pytest.mark.slow  # two runs, which load torch
def test_without_a_terminal_the_run_is_as_ever_but_for_one_sentence(
    tmp_path: Path, go: int
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.format(made=SGD, end="sys.exit(3)"))
    done: list[Any] = []
    for options in ([], ["--live"]):
        os.write(go, b"!")
        done.append(
            subprocess.run(
                [sys.executable, "-m", "gradledger", "run", *options, "train.py"],
                cwd=tmp_path,
                env={**os.environ, "TERM": "xterm", "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                start_new_session=True,  # which no terminal controls
            )
        )
    plain, live = done
    assert plain.returncode == live.returncode == 3
    assert live.stdout == plain.stdout
    said, rest = live.stderr.split(b"\n", 1)
    assert said == (
        b"gradledger: --live needs a terminal to show anything, and there is none here; train.py "
        b"runs as without it."
    )
    assert rest == plain.stderr


def test_only_the_first_rank_has_a_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "panels")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "29511")
    live = {}
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        live[rank] = Auditing("train.py", kept=frozenset(), live=True)._live
    assert live["0"] is not None
    assert live["1"] is None
