"""Runs cases on this rank, plain and audited: `program.py FOLDER CASE…`; `--plain` runs no audit.

Each case is in a file of its own as soon as it is through, so that a launch that dies leaves what
it has done.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ["DS_ACCELERATOR"] = "cpu"

import deepspeed  # type: ignore[import-not-found]
import torch

import gradledger
from tests.runtime.with_deepspeed.cases import CASES, result_file
from tests.runtime.with_deepspeed.loop import train


def audited(stage: int, how: tuple[str, ...]) -> dict[str, Any]:
    _, plain = train(stage, how)
    with gradledger.audit() as book:
        passes, values = train(stage, how)
    if book.journal.failure is not None:
        raise book.journal.failure
    return {
        "passes": passes,
        "parameters": len(values),
        "findings": [f"{f.rule} {Path(f.at.path).name}:{f.at.line}" for f in book.findings],
        "details": [f.detail for f in book.findings],
        "tally": book.tally._asdict(),
        "unseen": [one.phrase for one in book.verdict("").unseen],
        "same": all(map(torch.equal, plain, values)),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    # A compiler would be needed for it, and half a minute.
    sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # type: ignore[attr-defined]
    deepspeed.init_distributed("gloo")
    folder, *words = sys.argv[1:]
    if words[0] == "--plain":
        for case in words[1:]:
            train(*CASES[case])
    else:
        for case in words:
            try:
                told = audited(*CASES[case])
            except Exception as error:
                raise RuntimeError(f"in {case}") from error
            result_file(Path(folder), case, int(os.environ["RANK"])).write_text(json.dumps(told))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
