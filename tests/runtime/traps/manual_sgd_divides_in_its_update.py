"""SGD written out: the window is divided in the very line that updates."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 3)
accumulate = 4

for _ in range(6):
    for _ in range(accumulate):
        inputs, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))
        nn.functional.cross_entropy(model(inputs), labels).backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.1 * p.grad / accumulate
            p.grad = None
