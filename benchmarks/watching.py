"""What is said of a program that is run: by gradledger, by torch, and by torch looking for NaN."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

RANKS = 2
PATIENCE = 300
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(RANKS))
ANOMALY = """\
import runpy, sys, torch

with torch.autograd.detect_anomaly():
    runpy.run_path(sys.argv[1], run_name="__main__")
"""
_WARNING = re.compile(r"^\S.*:\d+: (\w*Warning: .*)$", re.MULTILINE)
_ERROR = re.compile(r"^(?:\[rank\d\]: )?((?:\w+\.)*\w*(?:Error|Exception): .*)$", re.MULTILINE)
_ITS_OWN = "Anomaly Detection has been enabled"


def gradledger_run(program: Path) -> set[str]:
    """Rule and line of each finding."""
    with TemporaryDirectory() as folder:
        verdict = Path(folder) / "verdict.json"
        ours = ["--format", "json", "--output", str(verdict)]
        _run(program, folder, "-m", "gradledger", "run", *ours, str(program))
        findings = json.loads(verdict.read_text(encoding="utf-8"))["findings"]
    return {f"{found['rule']} in line {found['line']}" for found in findings}


def plain_torch(program: Path) -> set[str]:
    """Warnings, and the exception that ends it."""
    with TemporaryDirectory() as folder:
        return set(_complaints(_run(program, folder, str(program))))


def detect_anomaly(program: Path) -> set[str]:
    """The same under `torch.autograd.detect_anomaly()`, but for the warning that it is slow."""
    with TemporaryDirectory() as folder:
        driver = Path(folder) / "anomaly.py"
        driver.write_text(ANOMALY, encoding="utf-8")
        return set(_complaints(_run(program, folder, str(driver), str(program))))


def _run(program: Path, folder: str, *words: str) -> str:
    """What Python with these words prints on stderr; a program made for ranks has them."""
    many = "init_process_group" in program.read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *(TORCHRUN if many else ()), *words],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    # Of a program that ends well, no exception counts, whatever it prints.
    return done.stderr if done.returncode else _ERROR.sub("", done.stderr)


def _complaints(said: str) -> Iterator[str]:
    yield from (words for words in _WARNING.findall(said) if _ITS_OWN not in words)
    yield from _ERROR.findall(said)
