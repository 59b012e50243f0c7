"""A hook before each step clips, one behind it moves the average of the weights along."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(0)
x = torch.randn(16, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Linear(4, 1)
average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
optimizer.register_step_pre_hook(
    lambda optimizer, args, kwargs: nn.utils.clip_grad_norm_(model.parameters(), 1.0) and None
)
optimizer.register_step_post_hook(lambda optimizer, args, kwargs: average.update_parameters(model))

for _ in range(6):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
