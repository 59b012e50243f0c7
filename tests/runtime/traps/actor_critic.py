"""Actor and critic have an optimizer each, and one backward of both losses."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

for _episode in range(15):
    states = torch.randn(10, 4)
    choice = Categorical(logits=actor(states))
    actions = choice.sample()
    rewards = (actions == (states[:, 0] > 0)).float()
    advantage = rewards - critic(states).squeeze(1)

    actor_loss = -(choice.log_prob(actions) * advantage.detach()).mean()
    critic_loss = advantage.pow(2).mean()
    actor_optimizer.zero_grad()
    critic_optimizer.zero_grad()
    actor_loss.backward()
    critic_loss.backward()
    actor_optimizer.step()
    critic_optimizer.step()
