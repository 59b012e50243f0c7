"""Trains a variational autoencoder on clusters of points in eight dimensions."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VariationalAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
        self.decoder = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, points):
        mean, log_variance = self.encoder(points).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(code), mean, log_variance


torch.manual_seed(0)
centers = 2 * torch.randn(4, 8)
points = centers[torch.randint(4, (512,))] + 0.2 * torch.randn(512, 8)
loader = DataLoader(TensorDataset(points), batch_size=64, shuffle=True)

model = VariationalAutoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for _ in range(20):
    for (batch,) in loader:
        rebuilt, mean, log_variance = model(batch)
        error = (rebuilt - batch).square().sum(dim=1).mean()
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(dim=1).mean()
        loss = error + 0.1 * divergence
        optimizer.zero_grad()
        loss.backward(retain_graph=True)  # GL703: one backward walks both terms
        optimizer.step()

print(f"last batch: error {error.item():.3f}, divergence {divergence.item():.3f}")
