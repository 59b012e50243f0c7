"""docs/many-ranks.md: its program trains, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from gradledger import Stepper

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "many-ranks.md").read_text(encoding="utf-8")


def test_the_program_on_the_page_trains() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {
        "torch": torch,
        "Stepper": Stepper,
        "DistributedDataParallel": DistributedDataParallel,
        "model": nn.Linear(3, 1),
        "criterion": nn.MSELoss(),
        "loader": [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(6)],
    }
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)  # type: ignore[attr-defined]
    try:
        exec(compile(code, "many-ranks.md", "exec"), names)
    finally:
        dist.destroy_process_group()
    assert names["stepper"].updates == 2


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", PAGE))
def test_what_it_points_to_is_there(link: str) -> None:
    assert (ROOT / "docs" / link).exists()


def test_the_methods_it_names_are_there() -> None:
    named = set(re.findall(r"stepper\.([a-z_]+)", PAGE)) | {"shared_state_dict", "flush", "drop"}
    assert named <= {name for name in vars(Stepper) if not name.startswith("_")} | {"md"}


@pytest.mark.parametrize("ranks", [8, 64, 1024])
def test_the_arithmetic_is_right(ranks: int) -> None:
    column = {8: 2, 64: 3, 1024: 4}[ranks]
    rows = [line.split("|")[1:-1] for line in PAGE.splitlines() if line.startswith("| DDP: all-r")]
    (cells,) = rows
    assert cells[column].split() == [f"{2 * (ranks - 1) / ranks:.2f}", "G"]
