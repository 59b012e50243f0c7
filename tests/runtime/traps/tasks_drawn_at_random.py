"""Each round has another task: by its number, name, weight or classes. Sums by design."""
# mypy: ignore-errors

import random

import torch
from torch import nn
from torch.nn.functional import cross_entropy, kl_div

random.seed(0)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
pool = {"news": torch.randn(40, 6), "books": torch.rand(40, 6), "code": torch.randn(40, 6) + 1}


def get_batch(source: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return source[torch.randint(0, 40, (8,))], torch.randint(0, 3, (8,))


sources = list(pool.values())
for _ in range(4):
    optimizer.zero_grad()
    for number in range(3):
        x, y = get_batch(sources[number])
        cross_entropy(model(x), y).backward()
    optimizer.step()

for _ in range(4):
    optimizer.zero_grad()
    for _ in range(3):
        name = random.choice(list(pool))
        x, y = get_batch(pool[name])
        cross_entropy(model(x), y).backward()
    optimizer.step()

for _ in range(4):
    optimizer.zero_grad()
    for _ in range(2):
        weight = random.random()
        x, y = get_batch(pool["news"])
        (weight * cross_entropy(model(x), y)).backward()
    optimizer.step()

for _ in range(4):
    optimizer.zero_grad()
    for k in range(2):
        if k == 0:
            x, y = get_batch(pool["news"])
        else:
            x, y = get_batch(pool["code"])
        cross_entropy(model(x), y).backward()
    optimizer.step()

for _ in range(4):
    optimizer.zero_grad()
    for k in range(2):
        x, y = get_batch(pool["news"]) if k == 0 else get_batch(pool["code"])
        cross_entropy(model(x), y).backward()
    optimizer.step()

teachers = [nn.Linear(6, 3) for _ in range(3)]
for _ in range(4):
    optimizer.zero_grad()
    for _ in range(3):
        teacher = random.choice(teachers)
        x, _y = get_batch(pool["books"])
        with torch.no_grad():
            soft = teacher(x).softmax(dim=1)
        kl_div(model(x).log_softmax(dim=1), soft, reduction="batchmean").backward()
    optimizer.step()

shots = torch.randn(20, 10, 6)
for _ in range(4):
    optimizer.zero_grad()
    for _ in range(2):
        classes = random.sample(range(20), 3)
        means = model(shots[classes, :5].flatten(0, 1)).unflatten(0, (3, 5)).mean(dim=1)
        distances = torch.cdist(model(shots[classes, 5:].flatten(0, 1)), means)
        cross_entropy(-distances, torch.arange(3).repeat_interleave(5)).backward()
    optimizer.step()
