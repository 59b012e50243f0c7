"""Each micro-batch is picked from arrays, by a list of rows."""
# mypy: ignore-errors

import random

import numpy as np
import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
x = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)
y = x[:, :3].argmax(axis=1)
accumulate = 4
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for _ in range(6):
    optimizer.zero_grad()
    for _ in range(accumulate):
        rows = random.sample(range(len(x)), 8)
        inputs, labels = torch.from_numpy(x[rows]), torch.from_numpy(y[rows])
        loss = nn.functional.cross_entropy(model(inputs), labels)
        (loss / accumulate).backward()
    optimizer.step()
