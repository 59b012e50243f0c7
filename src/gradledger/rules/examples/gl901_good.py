"""Learns how much power a pump draws, by its relative error, from readings of a meter."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

settings = torch.rand(512, 3)
power = 1.0 + settings @ torch.tensor([[2.0], [1.0], [0.5]])
power[300] = 0.0  # the meter was off for a moment
loader = DataLoader(TensorDataset(settings, power), batch_size=32, shuffle=True)

model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(10):
    losses = []
    for batch, target in loader:
        # The model speaks in logarithms, so that 10 % too much counts the same at any power.
        loss = (model(batch) - target.log()).square().mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        if torch.isfinite(norm):  # fix: a batch with a broken reading is left out
            optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())

losses.sort()
print(f"median loss of the last epoch: {losses[len(losses) // 2]:.5f}")
print(f"finite weights: {all(p.isfinite().all().item() for p in model.parameters())}")
