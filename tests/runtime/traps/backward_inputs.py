"""Two nets trained in turn; each backward names the parameters that it fills."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 2) + 2), batch_size=16, shuffle=True)
generator, discriminator = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
bce = nn.functional.binary_cross_entropy_with_logits

for _epoch in range(3):
    for (real,) in loader:
        fake = generator(torch.randn(len(real), 3))
        score = torch.cat([discriminator(real), discriminator(fake.detach())])
        truth = torch.cat([torch.ones(len(real), 1), torch.zeros(len(real), 1)])
        bce(score, truth).backward(inputs=list(discriminator.parameters()))
        opt_d.step()
        opt_d.zero_grad()

        verdict = discriminator(fake)
        bce(verdict, torch.ones_like(verdict)).backward(inputs=list(generator.parameters()))
        opt_g.step()
        opt_g.zero_grad()
