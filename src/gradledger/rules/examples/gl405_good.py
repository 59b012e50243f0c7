"""Trains an encoder and a decoder to forecast waves, each clipped to its own gradient norm."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# 24 samples of a wave go in, the next 8 come out.
time = torch.linspace(0, 2, 32)
phase = 6.28 * torch.rand(256, 1)
frequency = 4 + 4 * torch.rand(256, 1)
waves = torch.sin(frequency * time + phase)
loader = DataLoader(TensorDataset(waves[:, :24], waves[:, 24:]), batch_size=32, shuffle=True)

encoder = nn.Sequential(nn.Linear(24, 32), nn.Tanh())
decoder = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 8))
optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)

for _ in range(20):
    for past, future in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cpu", dtype=torch.float16):
            forecast = decoder(encoder(past))
            loss = nn.functional.mse_loss(forecast, future)
        scaler.scale(loss).backward()

        # The encoder is the touchier half and gets the tighter limit.
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(encoder.parameters(), 0.1)
        nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)  # fix: the one unscale_ covers it too

        scaler.step(optimizer)
        scaler.update()

print(f"forecast loss of the last batch: {loss.item():.4f}")
