"""A contrastive loss over a large batch in chunks: surrogates carry cached gradients back."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 6)
loader = DataLoader(TensorDataset(x, x + 0.1 * torch.randn(96, 6)), batch_size=32, shuffle=True)
encoder = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
chunk = 8

for _epoch in range(2):
    for left, right in loader:
        parts = [*left.split(chunk), *right.split(chunk)]
        with torch.no_grad():
            cached = torch.cat([encoder(part) for part in parts])
        cached.requires_grad_(True)
        first, second = nn.functional.normalize(cached, dim=1).chunk(2)
        loss = nn.functional.cross_entropy(first @ second.T / 0.1, torch.arange(len(first)))
        loss.backward()

        optimizer.zero_grad()
        for part, gradient in zip(parts, cached.grad.split(chunk), strict=True):
            surrogate = (encoder(part) * gradient).sum()
            surrogate.backward()
        optimizer.step()
