"""Runs a program, and saves the parameters that its optimizers have at its end.

`python -m gradledger.runtime.launch.final_parameters SOURCE RESULT PATH [ARGUMENT ...]` runs the
text of SOURCE as if it stood at PATH, with fixed seeds.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.optim import Optimizer

from gradledger.runtime.launch.run_program import become
from gradledger.runtime.launch.targets import Target


def main(argv: Sequence[str]) -> None:
    """Raises what the program raises, but for an exit with 0."""
    source, result, path, *arguments = argv
    with open(source, "rb") as file:
        code = compile(file.read(), os.path.abspath(path), "exec", dont_inherit=True)
    folder = os.path.dirname(os.path.realpath(path))
    program = Target(path, (path, *arguments), folder, code=code, file=os.path.abspath(path))
    made: list[Optimizer] = []
    init = Optimizer.__init__
    Optimizer.__init__ = _noting(init, made)  # type: ignore[method-assign]
    random.seed(0)
    torch.manual_seed(0)
    if "numpy" in sys.modules:  # torch loads it where it is installed
        sys.modules["numpy"].random.seed(0)
    module = become(program)
    try:
        exec(code, module.__dict__)
    except SystemExit as stop:
        if stop.code not in (None, 0):
            raise
    torch.save([_parameters(optimizer) for optimizer in made], result)


def _noting(init: Callable[..., None], made: list[Optimizer]) -> Callable[..., None]:
    def noted(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        made.append(self)
        init(self, *args, **kwargs)

    return noted


def _parameters(optimizer: Optimizer) -> list[torch.Tensor]:
    return [p.detach().cpu().clone() for group in optimizer.param_groups for p in group["params"]]


if __name__ == "__main__":
    main(sys.argv[1:])
