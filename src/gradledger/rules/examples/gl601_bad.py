"""Trains an autoencoder that squeezes 16 correlated readings into 2 numbers."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# Readings that live on a plane: two hidden causes, sixteen sensors.
causes = torch.randn(512, 2)
readings = causes @ torch.randn(2, 16)
loader = DataLoader(TensorDataset(readings), batch_size=32, shuffle=True)

encoder = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 2))
decoder = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 16))
optimizer = torch.optim.Adam(decoder.parameters(), lr=3e-3)  # GL601: the encoder is left out
loss_fn = nn.MSELoss()
untrained = encoder[0].weight.detach().clone()

for epoch in range(15):
    for (batch,) in loader:
        loss = loss_fn(decoder(encoder(batch)), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

moved = (encoder[0].weight.detach() - untrained).norm().item()
print(f"reconstruction loss {loss.item():.4f}, the encoder moved by {moved:.4f}")
print(f"norm of the encoder's gradient: {encoder[0].weight.grad.norm().item():.4f}")
