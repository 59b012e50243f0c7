"""Trains a small GAN to draw numbers from a normal distribution."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# what the generator should learn to imitate: mean 4, standard deviation 1.25
numbers = 4.0 + 1.25 * torch.randn(2048, 1)
loader = DataLoader(TensorDataset(numbers), batch_size=128, shuffle=True)

generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
discriminator = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1))
loss_fn = nn.BCEWithLogitsLoss()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=5e-3, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=5e-3, betas=(0.5, 0.999))

for _epoch in range(12):
    for (real,) in loader:
        ones = torch.ones(len(real), 1)
        zeros = torch.zeros(len(real), 1)

        # the generator wants its numbers to be taken for real ones
        fake = generator(torch.randn(len(real), 4))
        loss_g = loss_fn(discriminator(fake), ones)
        loss_g.backward(inputs=list(generator.parameters()))  # fix: generator only
        optimizer_g.step()
        optimizer_g.zero_grad()

        # the discriminator wants to tell them apart
        loss_d = loss_fn(discriminator(real), ones) + loss_fn(discriminator(fake.detach()), zeros)
        loss_d.backward()
        optimizer_d.step()
        optimizer_d.zero_grad()

with torch.no_grad():
    sample = generator(torch.randn(1000, 4))
    trust_real = discriminator(numbers).sigmoid().mean()
    trust_fake = discriminator(sample).sigmoid().mean()
print(f"generated mean {sample.mean():.2f}, standard deviation {sample.std():.2f}")
print(f"real mean {numbers.mean():.2f}, standard deviation {numbers.std():.2f}")
print(f"the discriminator trusts real numbers {trust_real:.2f}, generated ones {trust_fake:.2f}")
