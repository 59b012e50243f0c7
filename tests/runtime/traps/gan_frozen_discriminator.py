"""The discriminator is frozen while the generator learns: nothing leaks, nothing is wasted."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 2) + 2), batch_size=16, shuffle=True)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
bce = nn.functional.binary_cross_entropy_with_logits

for _epoch in range(3):
    for (real,) in loader:
        fake = generator(torch.randn(len(real), 4))

        for p in discriminator.parameters():
            p.requires_grad_(False)
        opt_g.zero_grad()
        bce(discriminator(fake), torch.ones(len(real), 1)).backward()
        opt_g.step()

        for p in discriminator.parameters():
            p.requires_grad_(True)
        opt_d.zero_grad()
        real_loss = bce(discriminator(real), torch.ones(len(real), 1))
        fake_loss = bce(discriminator(fake.detach()), torch.zeros(len(real), 1))
        ((real_loss + fake_loss) / 2).backward()
        opt_d.step()
