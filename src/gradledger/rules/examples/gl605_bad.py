"""Trains a policy and a value estimate on one shared body, by policy gradient on a bandit."""

import torch
from torch import nn
from torch.distributions import Categorical
from torch.optim import Adam
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# each situation has one arm that pays, the one with the largest of its first four features
situations = torch.randn(1024, 8)
paying_arms = situations[:, :4].argmax(dim=1)
loader = DataLoader(TensorDataset(situations, paying_arms), batch_size=64, shuffle=True)

body = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
policy = nn.Linear(32, 4)
value = nn.Linear(32, 1)
lr = 0.01
policy_optimizer = Adam([*body.parameters(), *policy.parameters()], lr=lr)
value_optimizer = Adam([*body.parameters(), *value.parameters()], lr=lr)  # GL605: owns the body too
largest_move = 0.0  # of one weight of the body in one iteration

for epoch in range(21):
    total = 0.0
    for situation, paying_arm in loader:
        features = body(situation)
        choice = Categorical(logits=policy(features))
        arm = choice.sample()
        reward = (arm == paying_arm).float()
        expected = value(features).squeeze(1)

        # the advantage is a weight here, not a way for the policy to move the value
        advantage = reward - expected.detach()
        policy_loss = -(choice.log_prob(arm) * advantage).mean()
        value_loss = (reward - expected).square().mean()

        policy_optimizer.zero_grad()
        value_optimizer.zero_grad()
        (policy_loss + value_loss).backward()
        before = body[0].weight.detach().clone()
        policy_optimizer.step()
        value_optimizer.step()
        move = (body[0].weight.detach() - before).abs().max().item()
        largest_move = max(largest_move, move)
        total += reward.mean().item()
    if epoch % 20 == 0:
        print(f"epoch {epoch}: mean reward {total / len(loader):.3f}")

print(f"learning rate {lr}, largest move of a weight of the body {largest_move:.4f}")
