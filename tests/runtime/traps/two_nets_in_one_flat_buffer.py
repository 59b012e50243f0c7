"""Two nets trained in turn, whose gradients are halves of one buffer; each clears its own."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
real = torch.randn(32, 2) + 3
generator, critic = nn.Linear(4, 2), nn.Linear(2, 1)
nets = [generator, critic]
flat = torch.zeros(sum(p.numel() for net in nets for p in net.parameters()))
halves, start = [], 0
for net in nets:
    first = start
    for p in net.parameters():
        p.grad = flat[start : start + p.numel()].view_as(p)
        start += p.numel()
    halves.append(flat[first:start])
opt_g, opt_c = (torch.optim.SGD(net.parameters(), lr=0.01) for net in nets)
bce = nn.functional.binary_cross_entropy_with_logits

for _ in range(8):
    fake = generator(torch.randn(32, 4))
    halves[1].zero_()
    loss = bce(critic(real), torch.ones(32, 1)) + bce(critic(fake.detach()), torch.zeros(32, 1))
    loss.backward()
    opt_c.step()

    halves[0].zero_()
    critic.requires_grad_(False)
    bce(critic(fake), torch.ones(32, 1)).backward()
    critic.requires_grad_(True)
    opt_g.step()
