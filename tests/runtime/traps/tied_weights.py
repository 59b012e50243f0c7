"""Embedding and output layer are one tensor: two uses, one deposit, one owner."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn

torch.manual_seed(0)


class Bigram(nn.Module):
    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.mix = nn.Linear(width, width)
        self.out = nn.Linear(width, vocabulary, bias=False)
        self.out.weight = self.table.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(torch.tanh(self.mix(self.table(ids))))


text = torch.randint(0, 10, (16, 13))
model = Bigram(10, 8)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

for _epoch in range(3):
    for rows in text.split(4):
        logits = model(rows[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
