"""Reconstruction summed over pixels, divergence summed over codes: a sum by design."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.rand(64, 12)), batch_size=16, shuffle=True)
encoder, decoder = nn.Linear(12, 6), nn.Linear(3, 12)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

for _epoch in range(3):
    train_loss = 0
    for (x,) in loader:
        optimizer.zero_grad()
        mean, log_variance = encoder(x).chunk(2, dim=1)
        code = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        bce = nn.functional.binary_cross_entropy_with_logits(decoder(code), x, reduction="sum")
        kld = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        loss = bce + kld
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
