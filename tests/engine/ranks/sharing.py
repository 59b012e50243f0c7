"""Saves with torch.distributed.checkpoint in the middle of a window, and goes on elsewhere.

The second window: before the first update, torch's get_state_dict() steps an optimizer itself.

torchrun … -m tests.engine.ranks.sharing FOLDER KIND: three ranks save, and train to the end; or, if
there is something saved, so many ranks go on from there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.optim import AdamW

from gradledger import Stepper
from tests.engine.loops import Batch, micro_batches, net
from tests.engine.ranks.stories import replicate, shard, weights

RANKS, EACH, SAVED, ACCUMULATE = 3, 10, 7, 4


def data(rank: int) -> list[Batch]:
    """What each of the three ranks has."""
    return micro_batches(*range(2, 2 + EACH), seed=rank)


def left(ranks: int) -> list[list[Batch]]:
    """What is left when it was saved, shared out to another number of ranks."""
    rest = [batch for rank in range(RANKS) for batch in data(rank)[SAVED:]]
    return [rest[rank::ranks] for rank in range(ranks)]


def main(folder: Path, kind: str) -> None:
    """One of the runs."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    model = (shard if kind == "shards" else replicate)(net())
    optimizer = AdamW(model.parameters(), 0.01, eps=1e-3)
    stepper = Stepper(model, optimizer, accumulate=ACCUMULATE, clip_norm=0.5)
    checkpoint = folder / "checkpoint"
    resumed = checkpoint.exists()
    dist.barrier()
    if resumed:
        state = everything(model, optimizer, stepper)
        load(state, checkpoint_id=checkpoint)
        set_state_dict(
            model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
        )
        stepper.load_shared_state_dict(state["stepper"])
    batches = data(rank) if ranks == RANKS else left(ranks)[rank]
    for i, (x, y) in enumerate(stepper.over(batches)):
        stepper.backward((model(x) - y).square().mean(), items=len(y))
        if not resumed and i + 1 == SAVED:
            save(everything(model, optimizer, stepper), checkpoint_id=checkpoint)
    found = {"weights": weights(model), "updates": stepper.updates}
    torch.save(found, folder / f"{'resumed' if resumed else 'whole'} {ranks}.{rank}")
    dist.barrier()
    dist.destroy_process_group()


def everything(model: Any, optimizer: Any, stepper: Stepper) -> dict[str, Any]:
    """What a checkpoint holds."""
    weights_, moments = get_state_dict(model, optimizer)
    return {"model": weights_, "optimizer": moments, "stepper": stepper.shared_state_dict()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
