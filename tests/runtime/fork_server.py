"""Runs programs in forks of one process that has loaded torch, and takes down what they compute.

Python gets this text with -c, so that it belongs to no file and is no part of the audited program.
Each line of stdin is a list of runs to start together, each line of stdout their statuses.
"""

import atexit
import hashlib
import json
import os
import random
import sys
import threading
from operator import attrgetter
from types import ModuleType
from typing import Any

import numpy
import torch
import torch._dynamo
import torch.distributed  # its import is slow, and DDP is imported by every audit
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook

from gradledger.report import rendering
from gradledger.runtime import audit

_loaded = rendering, audit

gradient = attrgetter("grad")
"""Spelled so that the text of this file, should an audit read it, works on no gradients."""


class Witness:
    """Hashes what modules give back, what steps leave, and all there is at the end."""

    def __init__(self, *, follows: bool) -> None:
        self.seen = hashlib.blake2b(digest_size=16)
        self.calls = 0
        if follows:
            register_module_forward_hook(self.forward)
            register_optimizer_step_post_hook(self.step)

    def forward(self, module: nn.Module, given: object, output: object) -> None:
        if self.looks():
            self.take(output)

    def step(self, optimizer: Optimizer, args: object, kwargs: object) -> None:
        if self.looks():
            self.take([group["params"] for group in optimizer.param_groups])

    def looks(self) -> bool:
        """At first always. Later a part is enough: what goes astray stays astray."""
        self.calls += 1
        return self.calls <= 200 or not self.calls % 50

    def end(self, path: str) -> None:
        main = vars(sys.modules["__main__"])
        self.take({name: value for name, value in main.items() if not name.startswith("_")})
        self.take(torch.get_rng_state())
        self.seen.update(repr((random.getstate(), numpy.random.get_state())).encode())
        with open(path, "w") as file:
            file.write(self.seen.hexdigest())

    def take(self, value: Any, depth: int = 4) -> None:
        if isinstance(value, Tensor):
            self.take_tensor(value)
            if value.is_leaf and gradient(value) is not None:
                self.take_tensor(gradient(value))
        elif isinstance(value, nn.Module):
            self.take(dict(value.named_parameters()) | dict(value.named_buffers()))
            self.seen.update(repr(value.training).encode())
        elif isinstance(value, Optimizer):
            self.take(value.state_dict())
        elif isinstance(value, list | tuple) and depth:
            for part in value:
                self.take(part, depth - 1)
        elif isinstance(value, dict) and depth:
            for key, part in value.items():
                self.seen.update(repr(key).encode() if isinstance(key, str | int) else b"")
                self.take(part, depth - 1)
        elif isinstance(value, int | float | None):  # no text: names of temporary files
            self.seen.update(repr(value).encode())

    def take_tensor(self, tensor: Tensor) -> None:
        plain = tensor.detach()
        plain = plain.to_local() if hasattr(plain, "to_local") else plain  # of a DTensor, our part
        if hasattr(plain, "__tensor_flatten__"):  # a subclass that is made of others
            for name in plain.__tensor_flatten__()[0]:
                self.take_tensor(getattr(plain, name))
            return
        plain = plain.to_dense() if plain.layout != torch.strided else plain
        self.seen.update(f"{plain.dtype} {tuple(plain.shape)} {plain.stride()}".encode())
        self.seen.update(plain.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())


def become(run: dict[str, Any]) -> None:
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        flags = os.O_RDONLY if name == "stdin" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        path = os.devnull if name == "stdin" else os.path.join(run["folder"], name)
        os.dup2(os.open(path, flags), descriptor)
    os.environ.update(run["environment"])
    os.chdir(run["folder"])
    atexit.register(Witness(follows=run["follows"]).end, os.path.join(run["folder"], "digest"))
    sys.argv[:] = run["words"]
    random.seed(0)
    numpy.random.seed(0)


def plain() -> None:
    """What Python does with a program."""
    sys.path[0] = os.path.dirname(sys.argv[0])
    with open(sys.argv[0], encoding="utf-8") as file:
        code = compile(file.read(), sys.argv[0], "exec")
    main = sys.modules["__main__"] = ModuleType("__main__")
    vars(main).update(__file__=sys.argv[0], __builtins__=__builtins__)
    exec(code, vars(main))


torch.set_num_threads(1)
mine: dict[str, Any] = {}
for line in sys.stdin:
    children = []
    for mine in json.loads(line):  # noqa: B007
        child = os.fork()
        if not child:
            break
        children.append(child)
    else:
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        print(json.dumps(ended), flush=True)
        continue
    break
else:
    sys.exit()

# Only children come here. They end as Python does, but do not tidy up: that takes a second.
leave, status = os._exit, 0
become(mine)
try:
    if mine["audited"]:
        from gradledger.cli import main

        status = main()
    else:
        plain()
except SystemExit as stop:
    status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
except BaseException as error:
    status = 1
    sys.excepthook(type(error), error, error.__traceback__)
threading._shutdown()  # type: ignore[attr-defined]
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
leave(status)
