"""Elastic weight consolidation: the Fisher estimate reads gradients, and clears them unspent."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
first = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
second = DataLoader(TensorDataset(x, x.argmin(dim=1)), batch_size=16, shuffle=True)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for inputs, labels in first:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()

fisher = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
anchor = {name: p.detach().clone() for name, p in model.named_parameters()}
for inputs, labels in first:
    model.zero_grad()
    nn.functional.nll_loss(model(inputs).log_softmax(dim=1), labels).backward()
    for name, p in model.named_parameters():
        fisher[name] += p.grad.data**2 / len(first)

for inputs, labels in second:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    for name, p in model.named_parameters():
        loss = loss + 100 * (fisher[name] * (p - anchor[name]) ** 2).sum()
    loss.backward()
    optimizer.step()
