"""Trains a small GAN to draw points on a circle."""

import torch
from torch import nn
from torch.nn.functional import softplus
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def train_one_epoch(generator, discriminator, optimizer_g, optimizer_d, loader):
    for (real,) in loader:
        # the generator's turn: its points should pass for real ones
        discriminator.requires_grad_(False)  # fix: freeze it while the generator learns
        fake = generator(torch.randn(len(real), 8))
        loss_g = softplus(-discriminator(fake)).mean()
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
        discriminator.requires_grad_(True)  # fix: and thaw it for its own turn

        # the discriminator's turn: real points score high, generated ones low
        score_real, score_fake = discriminator(real), discriminator(fake.detach())
        loss_d = softplus(-score_real).mean() + softplus(score_fake).mean()
        optimizer_d.zero_grad()
        loss_d.backward()
        optimizer_d.step()
    return loss_g.item(), loss_d.item()


angle = 6.28 * torch.rand(1024)
circle = torch.stack([angle.cos(), angle.sin()], dim=1)
loader = DataLoader(TensorDataset(circle), batch_size=64, shuffle=True)

generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
discriminator = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))

for _epoch in range(15):
    loss_g, loss_d = train_one_epoch(generator, discriminator, optimizer_g, optimizer_d, loader)

with torch.no_grad():
    radius = generator(torch.randn(1000, 8)).norm(dim=1)
print(f"generator loss {loss_g:.3f}, discriminator loss {loss_d:.3f}")
print(f"radius of the generated points: {radius.mean():.2f} +- {radius.std():.2f}")
