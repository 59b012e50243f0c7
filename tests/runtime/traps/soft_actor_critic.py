"""The actor's loss goes through the critic, whose gradients of it are cleared before its turn."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

for _update in range(15):
    state, action = torch.randn(16, 3), torch.rand(16, 1) * 2 - 1
    reward = -(action - state[:, :1]).abs()
    critic_loss = nn.functional.mse_loss(critic(torch.cat([state, action], dim=1)), reward)
    critic_optimizer.zero_grad()  # may be: GL204
    critic_loss.backward()
    critic_optimizer.step()

    actor_loss = -critic(torch.cat([state, actor(state)], dim=1)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
