"""The generator's loss also fills the discriminator, which is cleared before its own turn."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 2) + 2), batch_size=16, shuffle=True)
netG = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))  # noqa: N816
netD = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))  # noqa: N816
criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))  # noqa: N816
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))  # noqa: N816

for _epoch in range(3):
    for (real,) in loader:
        # (1) the discriminator, on real and on fake samples
        netD.zero_grad()  # may be: GL204
        label = torch.ones(len(real), 1)
        criterion(netD(real), label).backward()
        fake = netG(torch.randn(len(real), 4))
        criterion(netD(fake.detach()), label.zero_()).backward()
        optimizerD.step()

        # (2) the generator
        netG.zero_grad()
        criterion(netD(fake), label.fill_(1.0)).backward()
        optimizerG.step()
