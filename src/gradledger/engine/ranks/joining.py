"""Which models are spread over ranks, and with which of them windows can be exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from gradledger.engine.parties import evaluates
from gradledger.engine.ranks.meetings import Meetings
from gradledger.engine.ranks.meshes import meshes_of, why_not
from gradledger.engine.ranks.replicas import replicated
from gradledger.engine.ranks.replicated import Replicated
from gradledger.engine.ranks.sharded import Sharded
from gradledger.engine.ranks.tensor_parallel import TensorParallel
from gradledger.engine.ranks.wire import has_other_hook
from gradledger.engine.sums import Sums
from gradledger.engine.window import Window
from gradledger.errors import OptionError

Join: TypeAlias = Callable[[Window, Sums], Meetings]


def join(model: nn.Module, optimizers: Sequence[Optimizer], *, eager: bool) -> Join | None:
    """How this rank meets the others where the model is spread over several; None where it is not.

    Raises OptionError for what could not be exact, or could hang. All ranks must come here.
    """
    if not dist.is_available() or not dist.is_initialized():
        return None
    core = getattr(model, "_orig_mod", model)  # what torch.compile has wrapped
    if isinstance(core, DistributedDataParallel):
        reasons = [*_why_not(core), *_why_not_with(core, optimizers)]
    elif hasattr(core, "set_requires_gradient_sync"):  # FSDP2's, which is slow to import
        reasons = [*_why_not_sharded(core, optimizers)]
    else:
        _check_nothing_inside(core)
        meshes = meshes_of(core.parameters())
        if not meshes:
            return None
        reasons = [*why_not(meshes)]
        if len(meshes) > 1:
            reasons.append(_NOT_ALL_SHARDED)
    if any(map(evaluates, optimizers)):
        reasons.append("an optimizer that evaluates the loss itself works within one process only.")
    if eager:
        reasons.append(
            'release="eager" can\'t be exact here: it spends a gradient before the ranks have '
            "added theirs up."
        )
    if reasons:
        raise OptionError(reasons[0])
    if isinstance(core, DistributedDataParallel):
        return partial(Replicated, core)
    return partial(Sharded if hasattr(core, "set_requires_gradient_sync") else TensorParallel, core)


_NOT_ALL_SHARDED = (
    "parts of the model are spread over the ranks in different ways, and the model itself is not "
    "what fully_shard() was called on. Call it on the whole model, after its parts."
)


def _check_nothing_inside(model: nn.Module) -> None:
    for name, module in model.named_modules():
        if hasattr(module, "set_requires_gradient_sync"):
            raise OptionError(f"{name}: {_NOT_ALL_SHARDED}")
        if type(module).__name__ == "FullyShardedDataParallel":
            raise OptionError(
                "FullyShardedDataParallel can't end a window early, or go on without a rank's "
                "data, and torch has deprecated it. Use fully_shard(model) in its place."
            )
        if isinstance(module, DistributedDataParallel):
            raise OptionError(
                f"{name} is a DistributedDataParallel inside of the model. Give the Stepper that "
                "module itself, and put all that its optimizer trains into it."
            )


def _why_not(model: DistributedDataParallel) -> Iterator[str]:
    if has_other_hook(model):
        yield (
            "this DistributedDataParallel has a communication hook of its own, and the Stepper "
            "needs that place: it adds the window to what is sent. Take register_comm_hook() out."
        )
    if model.static_graph:
        yield (
            "static_graph=True sends nothing in the first backward, and the same set of gradients "
            "in all others: faults and uneven data do not fit into it. Take it out."
        )
    odd: Any = model
    if odd._use_python_reducer or odd._delay_all_reduce_all_params or odd.mixed_precision:
        yield (
            "this DistributedDataParallel reduces in a way of its own (compiled autograd, delayed "
            "parameters or its mixed_precision). Use the plain one; for low precision, autocast."
        )
    for name, module in model.module.named_modules():
        if isinstance(module, nn.SyncBatchNorm):
            yield (
                f"{name} is a SyncBatchNorm, which communicates in every forward: where the data "
                "of one rank ends first, the others would wait for ever. Use another norm."
            )
        if isinstance(module, nn.Embedding | nn.EmbeddingBag) and module.sparse:
            yield f"{name} makes sparse gradients, which DDP reduces apart. Use sparse=False."


def _why_not_with(model: DistributedDataParallel, optimizers: Sequence[Optimizer]) -> Iterator[str]:
    reduced = {id(p) for p in replicated(model)}
    owned = {
        id(p)
        for optimizer in optimizers
        for group in optimizer.param_groups
        for p in group["params"]
        if p.requires_grad
    }
    names = {id(p): name for name, p in model.module.named_parameters()}
    logged: Any = model
    if logged._get_ddp_logging_data()["num_parameter_tensors"] != len(reduced):
        yield (
            "parameters were frozen or unfrozen after DistributedDataParallel(model), which takes "
            "note of them only then: it would wait for the wrong ones. Do that before."
        )
    if missing := [names[i] for i in reduced - owned]:
        yield (
            f"no optimizer of this Stepper holds {missing[0]}, and DDP waits for the gradients of "
            "all parameters that were trainable when it was made. Freeze it before "
            "DistributedDataParallel(model), or add it to the optimizer."
        )
    if owned - reduced:
        yield (
            "the optimizer holds a parameter that is not in the DistributedDataParallel model, or "
            "was frozen when that was made: ranks would move it each their own way."
        )


def _why_not_sharded(model: nn.Module, optimizers: Sequence[Optimizer]) -> Iterator[str]:
    names = {id(p): name for name, p in model.named_parameters()}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for p in group["params"]:
                if id(p) not in names:
                    yield (
                        "the optimizer holds a parameter that the model has not. Was the "
                        "optimizer made before fully_shard()? Make it after."
                    )
                elif p.requires_grad and not hasattr(p, "device_mesh"):
                    yield (
                        f"{names[id(p)]} is not sharded, and the rest is: ranks would move it each "
                        "their own way. Call fully_shard() on the whole model."
                    )
    yield from why_not(meshes_of(model.parameters()))
    state: Any = model
    groups = getattr(state._get_fsdp_state(), "_fsdp_param_groups", [])
    if any(getattr(group, "gradient_divide_factor", None) is not None for group in groups):
        yield "set_gradient_divide_factor() was called, and the Stepper divides. Take it out."
