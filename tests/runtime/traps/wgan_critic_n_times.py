"""Five critic steps for each generator step; the critic's weights are clipped, not gradients."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(160, 2) + 2), batch_size=16, shuffle=True)
generator, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g = torch.optim.RMSprop(generator.parameters(), lr=5e-4)
opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-4)

for _epoch in range(2):
    for i, (real,) in enumerate(loader):
        opt_c.zero_grad()  # may be: GL204
        fake = generator(torch.randn(len(real), 4)).detach()
        (critic(fake).mean() - critic(real).mean()).backward()
        opt_c.step()
        for p in critic.parameters():
            p.data.clamp_(-0.05, 0.05)
        if i % 5 == 4:
            opt_g.zero_grad()
            (-critic(generator(torch.randn(16, 4))).mean()).backward()
            opt_g.step()
