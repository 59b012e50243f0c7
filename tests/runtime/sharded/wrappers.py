"""The ways in which a model is spread over ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    fully_shard,
)
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

CPU = torch.device("cpu")


class Net(nn.Module):
    """Two layers whose output is no view, of which FSDP2 warns."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).relu()) * 1.0  # type: ignore[no-any-return]


def sharded(model: Net, **options: Any) -> Any:
    for part in (model.first, model.second):
        fully_shard(part, **options)
    return fully_shard(model, **options)


def kept_whole(model: Net) -> Any:
    spread = sharded(model, reshard_after_forward=False)
    spread.stays_whole = True  # between the micro-batches of a window
    return spread


def mixed(model: Net) -> Any:
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32)
    return sharded(model, mp_policy=policy)


def hybrid(model: Net) -> Any:
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicate", "shard"))
    return sharded(model, mesh=mesh)


def in_one_group(model: Net) -> Any:
    return fully_shard(model)


def tensor_parallel(model: Net, mesh: Any = None) -> Any:
    mesh = mesh or init_device_mesh("cpu", (2,))
    plan = {"first": ColwiseParallel(), "second": RowwiseParallel()}
    return parallelize_module(model, mesh, plan)


def both(shards: int, parallel: int) -> Callable[[Net], Any]:
    def spread(model: Net) -> Any:
        mesh = init_device_mesh("cpu", (shards, parallel), mesh_dim_names=("dp", "tp"))
        return sharded(tensor_parallel(model, mesh["tp"]), mesh=mesh["dp"])

    return spread


def distributed_by_hand(model: Net) -> Any:
    mesh = init_device_mesh("cpu", (2,))
    for layer, placement in ((model.first, Shard(0)), (model.second, Replicate())):
        for name, parameter in list(layer.named_parameters()):
            spread = distribute_tensor(parameter.detach(), mesh, [placement])
            setattr(layer, name, nn.Parameter(spread))

    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Tensor) -> Tensor:
            return model(distribute_tensor(x, mesh, [Replicate()])).full_tensor()  # type: ignore[no-any-return]

    return Whole()


def fsdp1(**options: Any) -> Callable[[Net], Any]:
    def spread(model: Net) -> Any:
        for name in ("first", "second"):
            part = FullyShardedDataParallel(getattr(model, name), device_id=CPU, **options)
            setattr(model, name, part)
        return FullyShardedDataParallel(model, device_id=CPU, **options)

    return spread


WRAPPERS: dict[str, Callable[[Net], Any]] = {
    "DDP": DistributedDataParallel,
    "ZeroRedundancyOptimizer": DistributedDataParallel,
    "fully_shard": sharded,
    "fully_shard in one group": in_one_group,
    "fully_shard kept whole": kept_whole,
    "fully_shard in bf16": mixed,
    "HSDP": hybrid,
    "tensor parallel": tensor_parallel,
    "fully_shard over tensor parallel": both(1, 2),
    "fully_shard over one tensor-parallel rank": both(2, 1),
    "DTensor": distributed_by_hand,
    "FSDP1": fsdp1(use_orig_params=False),
    "FSDP1 with its own parameters": fsdp1(use_orig_params=True),
}
UNSYNCED = ("tensor parallel", "DTensor")
"""Those that have nothing to put off."""
REFUSES = ("FSDP1", "FSDP1 with its own parameters")
"""Those that raise by themselves where gradients were not reduced."""
ALONE = ("fully_shard over tensor parallel",)
"""Those that have no other rank to exchange gradients with."""


def optimizer_of(wrapper: str, model: Any) -> Any:
    """SGD, by which each rank steps what it has of the model."""
    if wrapper == "ZeroRedundancyOptimizer":
        # Not above: torch's own package warns when it is imported, and pytest collects this file.
        from torch.distributed.optim import ZeroRedundancyOptimizer

        return ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.01, momentum=0.9)
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=False)
