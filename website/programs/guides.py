import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8, dtype=torch.float64)
y = x.sum(1, keepdim=True) + 0.1 * torch.randn(256, 1, dtype=torch.float64)

# "Without zero_grad the gradients grow each iteration."
model = nn.Linear(8, 1).double()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
norms = []
for _ in range(200):
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    norms.append(torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item())
grew = sum(b > a for a, b in zip(norms, norms[1:]))
print(f"without zero_grad, the norm grew on {grew} of {len(norms) - 1} steps")

# "It acts like momentum."  Like momentum 1.
torch.manual_seed(1)
plain = nn.Linear(8, 1).double()
torch.manual_seed(1)
heavy = nn.Linear(8, 1).double()
no_clear = torch.optim.SGD(plain.parameters(), lr=0.02)
momentum = torch.optim.SGD(heavy.parameters(), lr=0.02, momentum=1.0)
for _ in range(100):
    nn.functional.mse_loss(plain(x), y).backward()
    no_clear.step()
    momentum.zero_grad()
    nn.functional.mse_loss(heavy(x), y).backward()
    momentum.step()
apart = (plain.weight - heavy.weight).abs().max().item()
print(f"without zero_grad and momentum 1 differ by {apart:.0e}")

# "Divide by N and it equals the big batch."  Not with micro-batches of unequal size.
model.zero_grad()
nn.functional.mse_loss(model(x[:10]), y[:10]).backward()
big = model.weight.grad.clone()
model.zero_grad()
for rows in (slice(0, 8), slice(8, 10)):
    (nn.functional.mse_loss(model(x[rows]), y[rows]) / 2).backward()
off = (model.weight.grad - big).norm() / big.norm()
print(f"micro-batches of 8 and 2, divided by 2: {off:.0%} off")

# "set_to_none only saves memory."
for to_none in (True, False):
    w = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.AdamW([w], lr=0.1)
    w.grad = torch.ones(1)
    optimizer.step()
    before = w.item()
    optimizer.zero_grad(set_to_none=to_none)
    optimizer.step()
    print(f"set_to_none={to_none!s:5}: an unused parameter moves by {before - w.item():.3f}")

# "bf16 is good enough to add up gradients."
total = torch.zeros(1, dtype=torch.bfloat16)
for _ in range(300):
    total += 1
print(f"300 gradients of 1, added up in bf16: {total.item():.0f}")
