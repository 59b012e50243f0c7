"""Trains a denoiser with DistributedDataParallel, with noise of its own on each rank."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.orthogonal_(module.weight)
        nn.init.zeros_(module.bias)


# Made for torchrun --nproc_per_node 2; alone, it is a world of one.
if "RANK" not in os.environ:
    os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
dist.init_process_group("gloo")

torch.manual_seed(0)  # the same waves on every rank
phases = torch.rand(512, 1) * 6.28
waves = torch.sin(phases + torch.linspace(0, 6.28, 32))
dataset = TensorDataset(waves)
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=32, sampler=sampler)
torch.manual_seed(1 + dist.get_rank())  # from here on, other noise on every rank

model = nn.Sequential(nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 32))
model = DistributedDataParallel(model)
model.apply(init_weights)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
loss_fn = nn.MSELoss()

for epoch in range(5):
    sampler.set_epoch(epoch)
    for (batch,) in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(batch + 0.3 * torch.randn_like(batch)), batch)
        loss.backward()
        optimizer.step()  # GL803: the same step, but from other weights on each rank

weights = torch.cat([p.detach().flatten() for p in model.parameters()])
replicas = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
dist.all_gather(replicas, weights)
apart = max((replica - weights).abs().max().item() for replica in replicas)
if dist.get_rank() == 0:
    print(f"loss {loss.item():.4f} on rank 0 of {dist.get_world_size()}")
    print(f"replicas are {apart:.2e} apart")
dist.destroy_process_group()
