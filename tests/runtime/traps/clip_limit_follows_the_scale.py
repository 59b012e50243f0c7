"""The limit of the clip follows the scale, which grows; who asks for it also notices skips."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x.argmax(dim=1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=2)
max_norm = 0.1
limit = max_norm * scaler.get_scale()

for _ in range(12):
    optimizer.zero_grad()
    scaler.scale(nn.functional.cross_entropy(model(x), y)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), limit)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    limit = max_norm * scaler.get_scale()
    if scaler.get_scale() >= before:
        scheduler.step()
