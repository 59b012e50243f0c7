"""Truncated backpropagation over five steps at every third: two steps are walked once more by the
next window, through the state that they hand on, and so every graph is retained.
"""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
cell = nn.Linear(8, 8)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
state, steps = torch.zeros(2, 4), []
for t in range(12):
    given = state.detach().requires_grad_()
    out, state = cell(torch.cat([torch.rand(2, 4), given], dim=1)).chunk(2, dim=1)
    steps.append((given, state))
    if t % 3 == 2:
        out.square().mean().backward(retain_graph=True)
        for (_, earlier), (later, _) in zip(steps[-2:-6:-1], steps[:-5:-1], strict=False):
            earlier.backward(later.grad, retain_graph=True)
optimizer.step()
print(sum(p.sum().item() for p in cell.parameters()))
