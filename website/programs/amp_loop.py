import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
x, y = torch.randn(64, 8), torch.randn(64, 1)

for i, (inputs, targets) in enumerate(zip(x.split(8), y.split(8))):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(inputs), targets) / 2
    scaler.scale(loss).backward()
    if (i + 1) % 2 == 0:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
