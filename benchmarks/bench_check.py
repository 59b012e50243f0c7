"""How long `gradledger check` takes on a large tree, next to ruff; and on one small file.

`python benchmarks/bench_check.py FOLDER` measures on another tree than the installed packages.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_startup import children_cpu
from benchmarks.measure import compare

GRADLEDGER = [sys.executable, "-m", "gradledger", "check"]
RUFF = [
    str(Path(sys.executable).with_name("ruff")),
    *("check", "--select", "E9,F821", "--no-cache", "--isolated", "--exit-zero", "--quiet"),
]
ENOUGH = 5_000
SMALL = """\
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data:
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def running(command: list[str], folder: Path) -> Callable[[], object]:
    # As installed: with compiled modules, whatever this shell says.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def run() -> None:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr.decode()

    return run


def large_tree(tree: Path, work: Path) -> None:
    files = sum(1 for path in tree.rglob("*.py") if path.is_file())
    print(
        f"\n{files:,} Python files, {'enough' if files >= ENOUGH else 'too few: not a fair tree'}"
    )
    check = [*GRADLEDGER, "--exit-zero", str(tree)]
    compare(
        "Checking a large tree, wall time",
        {
            "ruff check --select E9,F821 --no-cache": running([*RUFF, str(tree)], work),
            "gradledger check --no-cache": running([*check, "--no-cache"], work),
            "gradledger check, the second time": running(check, work),
        },
        clock=time.perf_counter,
        rounds=5,
        goals={
            "gradledger check --no-cache": 1.5,
            "gradledger check, the second time": 0.3,
        },
    )


def small_file(work: Path) -> None:
    (work / "small.py").write_text(SMALL, encoding="utf-8")
    compare(
        "Checking one small file, CPU time",
        {
            "python -c pass": running([sys.executable, "-c", "pass"], work),
            "gradledger check small.py": running([*GRADLEDGER, "small.py"], work),
        },
        clock=children_cpu,
        rounds=15,
        goals={"gradledger check small.py": 4.0},
    )


def main(tree: Path | None = None) -> None:
    """The tree is that of the installed packages where none is given."""
    with tempfile.TemporaryDirectory() as folder:
        # Not where there is a pyproject.toml above: the cache is to be here, and new.
        small_file(Path(folder))
        large_tree(tree or _installed(), Path(folder))


def _installed() -> Path:
    """The packages beside us: torch, transformers and what they need."""
    import rich

    return Path(rich.__file__).parent.parent


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if sys.argv[1:] else None))
