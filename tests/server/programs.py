"""Short programs for an editor to show."""

WRONG = """\
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data:
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
"""Never clears: GL101 in line 8."""

RIGHT = WRONG.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")

LEFT_OVER = """\
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (x, y) in enumerate(data):
    loss = torch.nn.functional.mse_loss(model(x), y) / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
"""The last window is lost: GL203, for which there is no certain edit."""

BROKEN = WRONG + "def (:\n"

HELPER = """\
import torch


def learn(model, optimizer, x, y):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
"""Right or wrong only by who calls it."""

CALLER = """\
import torch
from helper import learn

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data:
    learn(model, optimizer, x, y)
"""
