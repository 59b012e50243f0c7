"""A loss that is scaled, and has two parts: all are kept, none with its graph."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=32.0)
total, history = torch.zeros(()), {"fit": [], "size": []}

for _ in range(40):
    out = model(torch.randn(4, 6))
    parts = {"fit": (out - 1).square().mean(), "size": model.weight.abs().mean()}
    loss = parts["fit"] + 0.1 * parts["size"]
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    total = total + loss.detach()
    for name, part in parts.items():
        history[name].append(part.item())
print(total.item(), sum(history["fit"]))
