"""WGAN-GP: a penalty on the gradient at interpolates, and a critic that steps more often."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(96, 2) + 3), batch_size=16, shuffle=True)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))


def penalty(real: Tensor, fake: Tensor) -> Tensor:
    mix = torch.rand(len(real), 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()


for _epoch in range(3):
    for i, (real,) in enumerate(loader):
        with torch.no_grad():
            fake = generator(torch.randn(len(real), 4))
        opt_c.zero_grad()
        loss_c = critic(fake).mean() - critic(real).mean() + 10 * penalty(real, fake)
        loss_c.backward()
        opt_c.step()

        if i % 3 == 2:
            critic.requires_grad_(False)
            opt_g.zero_grad()
            loss_g = -critic(generator(torch.randn(16, 4))).mean()
            loss_g.backward()
            opt_g.step()
            critic.requires_grad_(True)
