"""Sums, each divided by the items of the whole window; there are as many classes as batches."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, one_hot
from torch.utils.data import DataLoader, TensorDataset

SIZE, ACCUMULATE, CLASSES = 8, 4, 4
data = TensorDataset(torch.randn(64, 6), torch.randint(0, CLASSES, (64,)))
loader = DataLoader(data, batch_size=SIZE)


def hard(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return cross_entropy(logits, labels, reduction="sum")


def soft(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return cross_entropy(logits, one_hot(labels, CLASSES).float(), reduction="sum")


def each_class(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    targets = one_hot(labels, CLASSES).float()
    return binary_cross_entropy_with_logits(logits, targets, reduction="sum")


def written_out(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return (logits - one_hot(labels, CLASSES)).square().sum()


for criterion in (hard, soft, each_class, written_out):
    model = nn.Linear(6, CLASSES)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (inputs, labels) in enumerate(loader):
        (criterion(model(inputs), labels) / (SIZE * ACCUMULATE)).backward()
        if (i + 1) % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
