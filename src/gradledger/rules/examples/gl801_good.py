"""Fits a noisy plane with DistributedDataParallel, four micro-batches to a step."""

import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

# Made for torchrun --nproc_per_node 2; alone, it is a world of one.
if "RANK" not in os.environ:
    os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
dist.init_process_group("gloo")
torch.manual_seed(0)

inputs = torch.randn(512, 8)
targets = inputs @ torch.randn(8, 1) + 0.1 * torch.randn(512, 1)
dataset = TensorDataset(inputs, targets)
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=16, sampler=sampler)

model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()
accumulate = 4

for epoch in range(5):
    sampler.set_epoch(epoch)
    for i, (batch, target) in enumerate(loader):
        last = (i + 1) % accumulate == 0 or i + 1 == len(loader)
        # The ranks need not talk before the window is full.
        with nullcontext() if last else model.no_sync():  # fix: the last one reduces the sum
            loss = loss_fn(model(batch), target) / accumulate
            loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()

weights = torch.cat([p.detach().flatten() for p in model.parameters()])
replicas = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
dist.all_gather(replicas, weights)
apart = max((replica - weights).abs().max().item() for replica in replicas)
if dist.get_rank() == 0:
    print(f"loss {accumulate * loss.item():.4f} on rank 0 of {dist.get_world_size()}")
    print(f"replicas are {apart:.2e} apart")
dist.destroy_process_group()
