"""Trains an autoencoder on noisy sine waves with mixed precision and gradient clipping."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# 512 waves of random phase and frequency, 32 samples each.
time = torch.linspace(0, 1, 32)
phase = 6.28 * torch.rand(512, 1)
frequency = 3 + 6 * torch.rand(512, 1)
waves = torch.sin(frequency * time + phase) + 0.05 * torch.randn(512, 32)
loader = DataLoader(TensorDataset(waves), batch_size=32, shuffle=True)

model = nn.Sequential(
    nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 4), nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 32)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)

for _ in range(10):
    for (batch,) in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cpu", dtype=torch.float16):
            reconstruction = model(batch)
            loss = nn.functional.mse_loss(reconstruction, batch)
        scaler.scale(loss).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.2)  # GL401: still scaled by 4096
        scaler.step(optimizer)
        scaler.update()

print(f"gradient norm seen by the last clip: {norm:.3f}")
print(f"reconstruction loss after training:  {loss.item():.4f}")
