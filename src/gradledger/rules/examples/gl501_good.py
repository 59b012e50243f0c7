"""Trains a policy by REINFORCE to pick the best of four actions for each context."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def reward_of(contexts, actions, taste):
    """Pay well for the right action, with a rare jackpot that says nothing about it."""
    right = (contexts @ taste).argmax(dim=1)
    jackpot = 500.0 * (torch.rand(len(actions)) < 0.01)
    return (actions == right).float() + jackpot


torch.manual_seed(0)
contexts = torch.randn(1024, 6)
taste = torch.randn(6, 4)
loader = DataLoader(TensorDataset(contexts), batch_size=64, shuffle=True)

policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.3)

for _ in range(20):
    for (batch,) in loader:
        choice = torch.distributions.Categorical(logits=policy(batch))
        actions = choice.sample()
        rewards = reward_of(batch, actions, taste)
        loss = -(choice.log_prob(actions) * rewards).mean()

        optimizer.zero_grad()
        loss.backward()
        # A jackpot makes a huge gradient; one lucky draw must not throw the policy off.
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)  # fix: clip what the step will use
        optimizer.step()

with torch.no_grad():
    right = (contexts @ taste).argmax(dim=1)
    accuracy = (policy(contexts).argmax(dim=1) == right).float().mean()
print(f"right action chosen: {accuracy:.1%} of the time")
