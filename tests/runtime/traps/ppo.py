"""Several epochs over one rollout, in shuffled minibatches, with clipped ratios and norms."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
body, pi, value = nn.Linear(4, 16), nn.Linear(16, 2), nn.Linear(16, 1)
net = nn.ModuleList([body, pi, value])
optimizer = torch.optim.Adam(net.parameters(), lr=3e-4, eps=1e-5)

for _rollout in range(3):
    with torch.no_grad():
        states = torch.randn(32, 4)
        choice = Categorical(logits=pi(torch.tanh(body(states))))
        actions = choice.sample()
        old_log_prob = choice.log_prob(actions)
        returns = (actions == (states[:, 0] > 0)).float()
        advantages = returns - value(torch.tanh(body(states))).squeeze(1)
    for _epoch in range(2):
        for rows in torch.randperm(32).split(8):
            hidden = torch.tanh(body(states[rows]))
            choice = Categorical(logits=pi(hidden))
            ratio = (choice.log_prob(actions[rows]) - old_log_prob[rows]).exp()
            gain = advantages[rows]
            policy_loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            value_loss = nn.functional.mse_loss(value(hidden).squeeze(1), returns[rows])
            loss = policy_loss + 0.5 * value_loss - 0.01 * choice.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
