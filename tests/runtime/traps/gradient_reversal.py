"""Domain-adversarial training: one backward, with the sign turned on the way."""
# mypy: ignore-errors

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * grad, None


x = torch.randn(64, 4)
data = TensorDataset(x, (x[:, 0] > 0).long(), torch.randint(0, 2, (64,)))
features, label_head, domain_head = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 2)
model = nn.ModuleList([features, label_head, domain_head])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for _epoch in range(3):
    for inputs, labels, domains in DataLoader(data, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        hidden = torch.relu(features(inputs))
        label_loss = nn.functional.cross_entropy(label_head(hidden), labels)
        domain_loss = nn.functional.cross_entropy(domain_head(Reverse.apply(hidden, 0.1)), domains)
        (label_loss + domain_loss).backward()
        optimizer.step()
