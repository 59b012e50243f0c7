"""Says what it sees of itself, and trains for a moment."""

import os
import sys
import traceback

import torch


def seen() -> None:
    environment = {n: v for n, v in os.environ.items() if n not in ("_", "SHLVL")}
    print(environment, sys.path, sys.argv, sys.orig_argv, sys.flags)
    print(__name__, __file__, sys.modules["__main__"], sys.modules.get("sitecustomize"))


seen()
weight = torch.nn.Parameter(torch.ones(2))
loss = weight.square().sum()
loss.backward()  # type: ignore[no-untyped-call]
seen()
try:
    loss.backward()  # type: ignore[no-untyped-call]
except RuntimeError:
    traceback.print_exc()
loss.backward()  # type: ignore[no-untyped-call]
