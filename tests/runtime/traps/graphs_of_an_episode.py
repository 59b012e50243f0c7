"""REINFORCE keeps the graph of every action until the end of the episode, and then needs them."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 8)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=4)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()

for episode in range(12):
    log_probs, rewards = [], []
    for state in x.split(4)[:8]:
        choice = torch.distributions.Categorical(logits=model(state))
        action = choice.sample()
        log_probs.append(choice.log_prob(action).mean())
        rewards.append(action.float().mean())
        if episode == 11 and len(rewards) == 8:
            torch.empty(10**15)  # dies: an episode that is too long
    loss = -(torch.stack(log_probs) * torch.stack(rewards)).sum() / len(rewards)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
