"""Each parameter is stepped by a hook as its gradient arrives, in every other pass."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizers = {p: torch.optim.SGD([p], lr=0.01) for p in model.parameters()}
passes = 0


def spend(parameter: torch.Tensor) -> None:
    if passes % 2:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(spend)
for half in x.chunk(8):
    (nn.functional.mse_loss(model(half), half.sum(dim=1, keepdim=True)) / 2).backward()
    passes += 1
