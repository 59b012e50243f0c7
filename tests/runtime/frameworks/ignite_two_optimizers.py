"""A GAN under ignite: the discriminator is frozen while the generator learns."""
# mypy: ignore-errors

import torch
from ignite.engine import Engine
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 2) + 2), batch_size=16, shuffle=True)
generator, discriminator = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3)


def update(engine: Engine, batch: list[Tensor]) -> None:
    (real,) = batch
    bce = nn.functional.binary_cross_entropy_with_logits
    fake = generator(torch.randn(len(real), 3))
    opt_d.zero_grad()
    score = torch.cat([discriminator(real), discriminator(fake.detach())])
    truth = torch.cat([torch.ones(len(real), 1), torch.zeros(len(real), 1)])
    bce(score, truth).backward()
    opt_d.step()

    discriminator.requires_grad_(False)
    opt_g.zero_grad()
    bce(discriminator(fake), torch.ones(len(real), 1)).backward()
    opt_g.step()
    discriminator.requires_grad_(True)


Engine(update).run(loader, max_epochs=2)
