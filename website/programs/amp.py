import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
x, y = torch.randn(64, 8), torch.randn(64, 1)
window, updates = 4, 0


def norm():
    grads = [p.grad.norm() for p in model.parameters()]  # gradledger: ignore[GL401] to show it
    return torch.stack(grads).norm().item()


for i, (inputs, targets) in enumerate(zip(x.split(8), y.split(8))):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(inputs), targets) / window
    scaler.scale(loss).backward()
    if (i + 1) % window == 0:
        scaled = norm()
        scaler.unscale_(optimizer)  # once per window, after its last backward
        unscaled = nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
        scaler.step(optimizer)  # skips the update if a gradient is not finite
        scaler.update()  # once per window: the scale may change only here
        optimizer.zero_grad()
        updates += 1
        print(f"update {updates}: scaled, the norm was {scaled / unscaled:.0f} times as large")
