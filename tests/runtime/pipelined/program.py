"""Runs each case on this rank, plain and audited: `program.py FOLDER`."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import gradledger
from tests.runtime.pipelined.cases import CASES
from tests.runtime.pipelined.loop import train


def audited(name: str, how: tuple[str, ...]) -> dict[str, Any]:
    _, plain = train(name, how)
    with gradledger.audit() as book:
        passes, parameters = train(name, how)
    if book.journal.failure is not None:
        raise book.journal.failure
    return {
        "passes": passes,
        "parameters": len(parameters),
        "findings": [f"{f.rule} {Path(f.at.path).name}:{f.at.line}" for f in book.findings],
        "details": [f.detail for f in book.findings],
        "tally": book.tally._asdict(),
        "unseen": [one.phrase for one in book.verdict("").unseen],
        "same": all(map(torch.equal, plain, parameters)),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo")
    told: dict[str, Any] = {}
    for case, (name, how) in CASES.items():
        try:
            told[case] = audited(name, how)
        except Exception as error:
            raise RuntimeError(f"in {case}") from error
    Path(sys.argv[1], f"rank{os.environ['RANK']}").write_text(json.dumps(told))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
