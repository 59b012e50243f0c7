"""One tensor is the weight of two layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(12, 6)
        self.out = nn.Linear(6, 12, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.out(self.embed(tokens).mean(1))
        return scores


torch.manual_seed(0)
model = Tied()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for _ in range(5):
    tokens = torch.randint(12, (8, 5))
    optimizer.zero_grad()  # the clear
    nn.functional.cross_entropy(model(tokens), tokens[:, 0]).backward()  # type: ignore[no-untyped-call]
    optimizer.step()  # GL101: without the clear
