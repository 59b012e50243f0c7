"""Meshes of ranks: which ranks a model is spread over, and how often each number is there.

A mesh has dimensions along which data differs (FSDP2, HSDP) and others along which it is the same
(tensor parallelism). A parameter is split along some of them, and repeated along the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn


def meshes_of(parameters: Iterable[Any]) -> list[Any]:
    """Those that trainable parameters are spread over, each once, the largest first."""
    found: list[Any] = []
    for p in parameters:
        if p.requires_grad and hasattr(p, "device_mesh") and p.device_mesh not in found:
            found.append(p.device_mesh)
    return sorted(found, key=lambda mesh: -mesh.size())


def why_not(meshes: list[Any]) -> Iterator[str]:
    """Why a model can't be trained over these, in sentences."""
    if not meshes:
        return
    largest = meshes[0]
    ranks = set(largest.mesh.flatten().tolist())
    if any(not set(mesh.mesh.flatten().tolist()) <= ranks for mesh in meshes):
        yield (
            "the parameters are spread over several meshes, and none of them has all the ranks. "
            "Make one mesh of several dimensions, and take its parts: mesh['dp'], mesh['tp']."
        )
    elif largest.ndim > 1 and len(ranks) != dist.get_world_size():
        yield (
            f"the mesh has {len(ranks)} of the {dist.get_world_size()} ranks. One of several "
            "dimensions has to have all of them."
        )


def group_of(mesh: Any) -> dist.ProcessGroup:
    """All ranks of the mesh. `why_not` has found nothing."""
    group: dist.ProcessGroup | None = mesh.get_group() if mesh.ndim == 1 else dist.group.WORLD
    assert group is not None
    return group


def pieces(total: Tensor) -> int:
    """How many different pieces it is split into; 1 for a tensor that every rank has whole."""
    spread: Any = total
    if not hasattr(total, "placements"):
        return 1
    mesh, placements = spread.device_mesh, spread.placements
    return prod(mesh.size(i) for i, place in enumerate(placements) if not place.is_replicate())


def data_ranks(model: nn.Module) -> int:
    """How many ranks of a sharded model have data of their own: by that number FSDP2 divides."""
    for module in model.modules():
        state: Any = getattr(module, "_get_fsdp_state", lambda: None)()
        for group in getattr(state, "_fsdp_param_groups", ()):
            info = group.mesh_info
            shards: int = info.shard_mesh_size if info.shard_mesh_dim is not None else 1
            replicas: int = info.replicate_mesh_size if info.replicate_mesh_dim is not None else 1
            return shards * replicas
    return 1
