"""Trains in a torch that has lost private names.

`python -m tests.runtime.without_names` prints as JSON what came of it; names as arguments try only
those. torch is loaded once: each training is a fork, in which gradledger is imported without them.
"""

from __future__ import annotations

import ctypes
import gc
import json
import multiprocessing
import sys
import traceback
from types import FrameType, ModuleType
from typing import Any

import torch
import torch._dynamo  # with all that it loads: some of the names are there
import torch.distributed.distributed_c10d
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

SAME = (
    "torch._amp_foreach_non_finite_check_and_unscale_",
    "torch._disable_dynamo",
    "torch._utils._flatten_dense_tensors",
    "torch.compiler._is_compiling_flag",
    "torch.autograd.graph._engine_run_backward",
    "torch._C._current_graph_task_id",
    "torch._C._are_functorch_transforms_active",
    "torch._C._set_grad_enabled",
    "torch._C._len_torch_dispatch_stack",
    "torch._C._functions",
    "torch.autograd._profiler_enabled",
    "torch.utils.checkpoint.CheckpointFunction._backward_cls",
    "torch.Tensor._is_view",
    "torch.Tensor._grad",
    "torch.nn.modules.batchnorm._BatchNorm",
    "torch.nn.modules.batchnorm._NormBase",
    "torch.nn.modules.dropout._DropoutNd",
    "torch.optim.optimizer._global_optimizer_pre_hooks",
    "torch.optim.optimizer._global_optimizer_post_hooks",
    "torch.optim.optimizer._use_grad_for_differentiable",
    "torch.utils.data.dataloader._BaseDataLoaderIter",
    "torch.distributed.distributed_c10d._get_default_store",
)
"""Something does the same in their place."""
LESS = (
    "torch._C._autograd._get_sequence_nr",
    "node._sequence_nr",
    "node._saved_self_sym_sizes",
    "node._saved_reduction",
    "saved.unpack_hook",
    "torch.utils._python_dispatch._disable_current_modes",
    "torch.Tensor._base",
)
"""Less is seen, and the audit says so."""
UNPACKED = "torch._C._storage_Use_Count"
"""The Stepper packs nothing, and says so."""
NEEDED = ("torch.optim.Optimizer._optimizer_step_code", "torch.Tensor._version")
"""There can be no audit."""


CASES = ("", " ".join(SAME), " ".join(LESS), UNPACKED, *NEEDED)
"""What is missing at the same time."""


def main() -> None:
    """Prints a dict: by case, what came of it."""
    forks = multiprocessing.get_context("fork")
    found = {}
    for case in sys.argv[1:] or CASES:
        receiver, sender = forks.Pipe(duplex=False)
        process = forks.Process(target=_tell, args=(case, sender))
        process.start()
        sender.close()
        try:
            found[case] = receiver.recv()
        except EOFError:
            found[case] = {"error": "it died"}
        process.join()
    json.dump(found, sys.stdout)


def _tell(case: str, sender: Any) -> None:
    try:
        for name in case.split():
            take_away(name)
        sender.send(came_of_it())
    except BaseException:
        sender.send({"error": traceback.format_exc()})


def take_away(name: str) -> None:
    """From gradledger's modules alone: what torch has need of itself would break torch."""
    owner, _, last = name.rpartition(".")
    if owner == "node":
        leaf = torch.zeros(1, requires_grad=True)
        view = leaf.view_as(leaf).grad_fn
        assert view is not None
        losses = leaf.mean(), nn.functional.mse_loss(leaf, leaf.detach())
        for node in (view, view.next_functions[0][0], *(loss.grad_fn for loss in losses)):
            if last in vars(type(node)):
                _forget(type(node), last)
    elif owner == "saved":
        square: Any = torch.ones(1, requires_grad=True).square().grad_fn
        delattr(type(square._raw_saved_self), last)
    elif owner == "torch.Tensor":
        (kind,) = (kind for kind in Tensor.__mro__ if last in vars(kind))
        _forget(kind, last)
    elif owner:
        thing = _found(owner)
        if isinstance(thing, type):
            delattr(thing, last)
        else:
            _hide(thing, last)


def _found(path: str) -> Any:
    if path in sys.modules:
        return sys.modules[path]
    owner, _, last = path.rpartition(".")
    return getattr(_found(owner), last)


def _hide(module: Any, hidden: str) -> None:
    before: type[ModuleType] = type(module)

    class Forgetful(before):  # type: ignore[valid-type,misc]
        def __getattribute__(self, name: str) -> Any:
            if name == hidden and _is_ours(sys._getframe(1)):
                raise AttributeError(f"module has no attribute {name!r}")
            return before.__getattribute__(self, name)

    module.__class__ = Forgetful


def _is_ours(frame: FrameType) -> bool:
    if frame.f_code.co_name == "__getattribute__":  # several names of one module are hidden
        return frame.f_back is not None and _is_ours(frame.f_back)
    return str(frame.f_globals.get("__name__", "")).startswith("gradledger.")


def _forget(kind: type, name: str) -> None:
    """What C has made is immutable to who only asks."""
    (contents,) = (each for each in gc.get_referents(kind.__dict__) if type(each) is dict)
    del contents[name]
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


# What is trained


def came_of_it() -> dict[str, Any]:
    """Of an audit of a right and of a wrong loop, and of a Stepper."""
    from gradledger.errors import GradledgerError

    told: dict[str, Any] = {}
    try:
        told["stepper"] = _stepped()
    except AttributeError as error:
        told["stepper"] = {"error": str(error)}
    try:
        from gradledger.runtime.audit import audit
    except GradledgerError as error:
        return told | {"refused": str(error)}
    for loop in (right, wrong):
        try:
            with audit() as book:
                loop()
        except GradledgerError as error:
            return told | {"refused": str(error)}
        told[loop.__name__] = [finding.rule for finding in book.findings]
        told["unseen"] = [entry.phrase for entry in book.unseen]
        told["bug"] = repr(book.journal.failure) if book.journal.failure else ""
        if told["bug"]:
            break
    return told


def _trained(clear: bool) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(9)), nn.BatchNorm1d(4), nn.Dropout(0.1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for x, y in DataLoader(TensorDataset(torch.randn(8, 4), torch.randn(8, 4)), batch_size=4):
        if clear:
            optimizer.zero_grad()
        loss: Tensor = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        assert net[0].weight.grad is not None
        scaler.step(optimizer)
        scaler.update()


def right() -> None:
    """Nothing is wrong with it."""
    _trained(clear=True)


def wrong() -> None:
    """Never clears: GL101."""
    _trained(clear=False)


def _stepped() -> dict[str, Any]:
    """What a Stepper makes of weights, and what it says that it packs."""
    from gradledger.engine import Stepper

    torch.manual_seed(0)
    net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(9)), nn.BatchNorm1d(4), nn.Dropout(0.1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    stepper = Stepper(net, optimizer, accumulate=2, clip_norm=1.0)
    batches = [(torch.randn(2, 4), torch.randn(2, 4)) for _ in range(6)]
    for x, y in stepper.over(DataLoader(batches, batch_size=None)):  # type: ignore[arg-type]
        stepper.backward(nn.functional.mse_loss(net(x), y))
    return {"weights": [p.tolist() for p in net.parameters()], "plan": str(stepper.plan())}


if __name__ == "__main__":
    main()
