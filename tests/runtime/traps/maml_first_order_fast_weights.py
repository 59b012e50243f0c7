"""First-order MAML with weights made for a moment: the losses of the tasks are added up."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.func import functional_call
from torch.nn.functional import mse_loss

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def get_batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(8, 2), torch.randn(8, 1)


for _ in range(6):
    optimizer.zero_grad()
    for _ in range(4):
        (x, y), (query, wanted) = get_batch(), get_batch()
        fast = dict(model.named_parameters())
        loss = mse_loss(functional_call(model, fast, (x,)), y)
        gradients = torch.autograd.grad(loss, list(fast.values()))
        fast = {name: p - 0.1 * g for (name, p), g in zip(fast.items(), gradients, strict=True)}
        mse_loss(functional_call(model, fast, (query,)), wanted).backward()
    optimizer.step()
