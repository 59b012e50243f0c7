"""Deep Q-learning: a target network that is never trained, only copied into now and then."""
# mypy: ignore-errors

import copy
import random
from collections import deque

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
policy_net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target_net = copy.deepcopy(policy_net)
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True)
memory: deque = deque(maxlen=200)


def optimize_model(batch_size: int = 16, gamma: float = 0.9) -> None:
    if len(memory) < batch_size:
        return
    states, actions, rewards, following = map(
        torch.stack, zip(*random.sample(memory, batch_size), strict=True)
    )
    values = policy_net(states).gather(1, actions)
    with torch.no_grad():
        best = target_net(following).max(1, keepdim=True).values
    loss = nn.SmoothL1Loss()(values, rewards + gamma * best)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()


for step in range(40):
    state = torch.randn(4)
    with torch.no_grad():
        action = policy_net(state).argmax().view(1)
    memory.append((state, action, state[:1] * (2 * action - 1), torch.randn(4)))
    optimize_model()
    if step % 10 == 0:
        target_net.load_state_dict(policy_net.state_dict())
    for t, p in zip(target_net.parameters(), policy_net.parameters(), strict=True):
        t.data.mul_(0.995).add_(p.data, alpha=0.005)
