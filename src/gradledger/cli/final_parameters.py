"""Runs two versions of a program, and says how far apart their parameters are at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from gradledger.report.counts import counted

if TYPE_CHECKING:
    from torch import Tensor

CLOSE = 1e-4
"""Of the largest parameter: sums in another order differ by less, in float32."""


class Verdict(NamedTuple):
    """Whether both ended with the same parameters, in a sentence."""

    same: bool
    text: str


def compared(
    path: str, before: bytes, after: bytes, arguments: Sequence[str], *, seconds: float
) -> Verdict:
    """Each version in a new process, with the same seeds."""
    ends = []
    with TemporaryDirectory(prefix="gradledger-") as folder:
        for what, data in (("the program", before), ("the rewritten program", after)):
            source, result = Path(folder, "source"), Path(folder, "result")
            source.write_bytes(data)
            words = [str(source), str(result), path, *arguments]
            why = _run(words, Path(folder, "errors"), seconds)
            if why:
                return Verdict(False, f"not compared: {what} {why}")
            ends.append(_loaded(result))
            result.unlink()
    return _verdict(*ends)


def _run(words: Sequence[str], errors: Path, seconds: float) -> str:
    """Runs one of them; why it didn't come to its end, if it didn't."""
    module = "gradledger.runtime.launch.final_parameters"
    with open(errors, "wb") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=told,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            start_new_session=True,
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"took longer than {seconds:g} seconds (--seconds allows more)"
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if status == 0:
        return ""
    last = errors.read_text("utf-8", "replace").strip().splitlines()[-1:]
    return f"ended with {status}" + (f": {last[0]}" if last else "")


def _loaded(result: Path) -> list[list[Tensor]]:
    import torch

    loaded: list[list[Tensor]] = torch.load(result, weights_only=True)
    return loaded


def _verdict(before: list[list[Tensor]], after: list[list[Tensor]]) -> Verdict:
    import torch

    one, other = ([p for parameters in end for p in parameters] for end in (before, after))
    if not one:
        return Verdict(False, "not compared: the program made no optimizer with parameters.")
    if [p.shape for p in one] != [p.shape for p in other]:
        return Verdict(False, "not the same: the rewritten program trains other parameters.")
    number = counted(len(one), "parameter")
    if all(map(torch.equal, one, other)):
        return Verdict(True, f"compared: {number} end the same, bit for bit.")
    apart = max(_largest(a.double() - b.double()) for a, b in zip(one, other, strict=True))
    largest = max(_largest(p.double()) for p in one)
    told = f"largest difference of {number} is {apart:.1e}, the largest parameter {largest:.1e}"
    if apart <= CLOSE * largest:  # never with NaN
        return Verdict(True, f"compared: the {told}.")
    return Verdict(False, f"not the same: the {told}.")


def _largest(values: Tensor) -> float:
    return values.abs().max().item() if values.numel() else 0.0
