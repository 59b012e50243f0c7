"""Trains one trunk with two heads, for sum and product of two numbers, task by task in turn."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_one_epoch(trunk, heads, loaders, optimizer):
    """Return the last loss of each task, and how far heads moved while the other had its turn."""
    losses, drift = {}, 0.0
    for batches in zip(*loaders.values(), strict=True):
        for task, (numbers, target) in zip(loaders, batches, strict=True):
            idle = heads["product" if task == "sum" else "sum"].weight
            before = idle.detach().clone()

            optimizer.zero_grad()  # fix: a head without a gradient is None, and skipped
            loss = nn.functional.mse_loss(heads[task](trunk(numbers)), target)
            loss.backward()
            optimizer.step()

            losses[task] = loss.item()
            drift += (idle.detach() - before).norm().item()
    return losses, drift


def main():
    torch.manual_seed(0)
    numbers = torch.randn(256, 2)
    targets = {
        "sum": numbers.sum(dim=1, keepdim=True),
        "product": numbers.prod(dim=1, keepdim=True),
    }
    loaders = {
        task: DataLoader(TensorDataset(numbers, target), batch_size=32, shuffle=True)
        for task, target in targets.items()
    }
    trunk = nn.Sequential(nn.Linear(2, 32), nn.Tanh())
    heads = nn.ModuleDict({task: nn.Linear(32, 1) for task in targets})
    parameters = [*trunk.parameters(), *heads.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)

    for _ in range(20):
        losses, drift = train_one_epoch(trunk, heads, loaders, optimizer)
    print(f"loss of sum {losses['sum']:.4f}, of product {losses['product']:.4f}")
    print(f"idle heads moved by {drift:.4f} in the last epoch")


main()
