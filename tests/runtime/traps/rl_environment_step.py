"""REINFORCE on a corridor: env.step() is no optimizer's."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Corridor:
    def reset(self) -> torch.Tensor:
        self.place, self.time = 0, 0
        return self.observation()

    def observation(self) -> torch.Tensor:
        return nn.functional.one_hot(torch.tensor(self.place), 6).float()

    def step(self, action: int) -> tuple[torch.Tensor, float, bool]:
        self.place = max(0, min(5, self.place + (1 if action else -1)))
        self.time += 1
        return self.observation(), float(self.place == 5), self.place == 5 or self.time == 15


env = Corridor()
policy = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)

for _episode in range(10):
    observation, done = env.reset(), False
    log_probs, rewards = [], []
    while not done:
        choice = Categorical(logits=policy(observation))
        action = choice.sample()
        log_probs.append(choice.log_prob(action))
        observation, reward, done = env.step(action.item())
        rewards.append(reward - 0.1)
    returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    loss = -(torch.stack(log_probs) * (returns - returns.mean())).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
