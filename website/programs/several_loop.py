import torch
from torch import nn

torch.manual_seed(0)
generator, discriminator = nn.Linear(8, 2), nn.Linear(2, 1)
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)

for step in range(100):
    real, noise = torch.randn(16, 2), torch.randn(16, 8)
    fake = generator(noise)

    opt_d.zero_grad()
    d_loss = bce(discriminator(real), ones) + bce(discriminator(fake.detach()), zeros)
    d_loss.backward()
    opt_d.step()

    opt_g.zero_grad()
    g_loss = bce(discriminator(fake), ones)
    g_loss.backward(inputs=list(generator.parameters()))
    opt_g.step()
