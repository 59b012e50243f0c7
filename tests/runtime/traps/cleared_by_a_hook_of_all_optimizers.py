"""One hook for all optimizers clears by hand after each step, and counts the steps."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

torch.manual_seed(0)
x = torch.randn(16, 4)
y = x.sum(dim=1, keepdim=True)
body, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizers = [torch.optim.SGD(part.parameters(), lr=0.05) for part in (body, head)]
steps = 0


def clear(optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> None:
    global steps
    steps += 1
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None


handle = register_optimizer_step_post_hook(clear)

for _ in range(6):
    nn.functional.mse_loss(head(body(x)), y).backward()
    for optimizer in optimizers:
        optimizer.step()
handle.remove()
