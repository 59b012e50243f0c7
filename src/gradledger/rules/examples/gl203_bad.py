"""Trains an autoencoder of noisy waves, accumulating over four batches per step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# one period of a sine with a random phase and amplitude, sampled at 32 places
phase = 6.28 * torch.rand(320, 1)
amplitude = 0.5 + torch.rand(320, 1)
waves = amplitude * torch.sin(torch.linspace(0, 6.28, 32) + phase)
loader = DataLoader(TensorDataset(waves), batch_size=32, shuffle=True)  # 10 batches

model = nn.Sequential(
    nn.Linear(32, 16),
    nn.Tanh(),
    nn.Linear(16, 3),
    nn.Linear(3, 16),
    nn.Tanh(),
    nn.Linear(16, 32),
)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
accumulate = 4
steps = 0

for epoch in range(40):
    total = 0.0
    for i, (wave,) in enumerate(loader):
        noisy = wave + 0.1 * torch.randn_like(wave)
        loss = loss_fn(model(noisy), wave)
        total += loss.item()
        (loss / accumulate).backward()  # GL203: two of the ten batches are left to the next epoch
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    if epoch % 39 == 0:
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")

print(f"{steps / (epoch + 1):g} steps for the {len(loader)} batches of an epoch")
