"""Tokens are drawn from an array of them; the next micro-batch is fetched before the backward."""
# mypy: ignore-errors

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

torch.manual_seed(0)
tokens = np.random.default_rng(0).integers(0, 20, 4000).astype(np.uint16)
accumulate, context = 4, 8


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.places = nn.Embedding(context, 16)
        self.head = nn.Linear(16, 20)
        self.register_buffer("past", torch.tril(torch.ones(context, context)))

    def forward(self, idx: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.words(idx) + self.places(torch.arange(context))
        x = (x @ x.mT).masked_fill(self.past == 0, -1e9).softmax(-1) @ x
        logits = self.head(x)
        return logits, cross_entropy(logits.flatten(0, 1), targets.flatten())


def fetch(split: str) -> tuple[torch.Tensor, torch.Tensor]:
    part = tokens[:3600] if split == "train" else tokens[3600:]
    starts = torch.randint(len(part) - context, (4,))
    x = torch.stack([torch.from_numpy(part[i : i + context].astype(np.int64)) for i in starts])
    y = torch.stack([torch.from_numpy(part[i + 1 : i + 1 + context].astype("i8")) for i in starts])
    return x, y


model = Words()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
X, Y = fetch("train")
so_far = 0.0
for iteration in range(6):
    for micro_step in range(accumulate):
        model.require_backward_grad_sync = micro_step == accumulate - 1
        logits, loss = model(X, Y)
        loss = loss / accumulate
        X, Y = fetch("train")
        loss.backward()
        so_far += loss.item()
        if micro_step == accumulate - 1:
            print(f"iteration {iteration}, micro step {micro_step}: {so_far:.3f}")
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
