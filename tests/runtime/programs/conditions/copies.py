"""Models and optimizers are copied, pickled, saved and loaded between the steps."""

from __future__ import annotations

import copy
import io
import pickle

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

for number in range(8):
    optimizer.zero_grad()  # the clear
    model(torch.randn(8, 4)).pow(2).mean().backward()
    if number == 2:
        twin = copy.deepcopy((model, optimizer))
        other = pickle.loads(pickle.dumps((model, optimizer)))
    optimizer.step()  # GL101: without the clear
    if number == 4:
        file = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
        file.seek(0)
        state = torch.load(file)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])

for copied, fit in (twin, other):
    copied(torch.randn(8, 4)).pow(2).mean().backward()
    fit.step()
    fit.zero_grad()
