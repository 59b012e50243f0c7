"""Two nets learn from each other to draw a ring. Nothing here raises or warns."""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
angles = torch.rand(640) * 2 * torch.pi
ring = DataLoader(torch.stack([angles.cos(), angles.sin()], dim=1), batch_size=64, shuffle=True)


def net(inputs: int, outputs: int) -> nn.Sequential:
    hidden = nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU()
    return nn.Sequential(*hidden, nn.Linear(32, outputs))


generator, critic = net(4, 2), net(2, 1)
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
judge = nn.BCEWithLogitsLoss()
real, fake = torch.ones(64, 1), torch.zeros(64, 1)

for epoch in range(60):
    for i, points in enumerate(ring):
        drawn = generator(torch.randn(64, 4)).detach()
        critic_loss = judge(critic(points), real) + judge(critic(drawn), fake)
        (critic_loss / 4).backward()
        if (i + 1) % 4 == 0:
            critic_optimizer.step()
            critic_optimizer.zero_grad()

            generator_optimizer.zero_grad()
            generator_loss = judge(critic(generator(torch.randn(64, 4))), real)
            generator_loss.backward()
            nn.utils.clip_grad_norm_(generator.parameters(), 0.5)
            generator_optimizer.step()
    if epoch % 10 == 9:
        radius = drawn.norm(dim=1)
        print(f"epoch {epoch + 1}: drawn at a radius of {radius.mean():.2f} ± {radius.std():.2f}")
