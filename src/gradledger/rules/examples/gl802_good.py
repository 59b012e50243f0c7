"""Trains a classifier of noisy patterns with DistributedDataParallel, each batch in four pieces."""

import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

# Made for torchrun --nproc_per_node 2; alone, it is a world of one.
if "RANK" not in os.environ:
    os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
dist.init_process_group("gloo")
torch.manual_seed(0)

prototypes = torch.randn(10, 64)
labels = torch.randint(10, (512,))
patterns = prototypes[labels] + torch.randn(512, 64)
dataset = TensorDataset(patterns, labels)
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=64, sampler=sampler)

model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)))
traffic = {"reductions": 0, "steps": 0}


def count_and_reduce(state, bucket):
    state["reductions"] += 1
    return allreduce_hook(None, bucket)


model.register_comm_hook(traffic, count_and_reduce)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()
pieces = 4  # a whole batch does not fit into memory

for epoch in range(3):
    sampler.set_epoch(epoch)
    for batch, target in loader:
        optimizer.zero_grad()
        for k, (x, y) in enumerate(zip(batch.chunk(pieces), target.chunk(pieces), strict=True)):
            # Forward and backward: the forward decides whether the backward reduces.
            with model.no_sync() if k < pieces - 1 else nullcontext():  # fix: reduce the last
                loss = loss_fn(model(x), y) / pieces
                loss.backward()
        optimizer.step()
        traffic["steps"] += 1

weights = torch.cat([p.detach().flatten() for p in model.parameters()])
replicas = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
dist.all_gather(replicas, weights)
apart = max((replica - weights).abs().max().item() for replica in replicas)
if dist.get_rank() == 0:
    print(f"{traffic['reductions']} all-reduces for {traffic['steps']} steps")
    print(f"loss {pieces * loss.item():.4f}, replicas are {apart:.2e} apart")
dist.destroy_process_group()
