"""A model that is built anew while the optimizer keeps the old one's parameters (GL603)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.in_process import marked
from tests.runtime.nursery import Nursery

HEAD = """\
import copy

import torch
from torch import nn

torch.manual_seed(0)
data = [(torch.randn(4, 8), torch.randint(0, 2, (4,))) for _ in range(6)]
loss_fn = nn.CrossEntropyLoss()


def net():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def train(model, optimizer):
    for x, y in data:
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()


"""
WRONG = {
    "per fold": """\
model = net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for fold in range(3):
    if fold:
        model = net()  # here
    train(model, optimizer)
""",
    "before the first fold, too": """\
optimizer = torch.optim.AdamW(net().parameters())
for fold in range(3):
    model = net()  # here
    train(model, optimizer)
""",
    "old ones are kept": """\
model, models = net(), []
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for fold in range(3):
    train(model, optimizer)
    models.append(model)
    model = net()  # here
""",
    "in an attribute": """\
class Trainer:
    def __init__(self):
        self.model = net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
    def reset(self):
        self.model = net()
    def run(self):
        for fold in range(3):
            train(self.model, self.optimizer)
            self.model = net()  # here
Trainer().run()
""",
    "only the head": """\
body, head = nn.Linear(8, 16), nn.Linear(16, 2)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for fold in range(3):
    if fold:
        head = nn.Linear(16, 2)  # here
    train(nn.Sequential(body, head), optimizer)
""",
}
RIGHT = {
    "both are made per fold": """\
for fold in range(3):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer)
""",
    "the weights are reset in place": """\
model = net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
start = copy.deepcopy(model.state_dict())
for fold in range(3):
    model.load_state_dict(start)
    train(model, optimizer)
""",
    "an average of the weights": """\
model = net()
average = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data * 3:
    optimizer.zero_grad()
    loss_fn(model(x), y).backward()
    optimizer.step()
    with torch.no_grad():
        for mean, now in zip(average.parameters(), model.parameters()):
            mean.lerp_(now, 0.1)
""",
    "a teacher": """\
model, teacher = net(), net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data * 3:
    with torch.no_grad():
        target = teacher(x).softmax(1)
    optimizer.zero_grad()
    loss_fn(model(x), target).backward()
    optimizer.step()
""",
    "a probe with an optimizer of its own": """\
model, probe = net(), nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    train(model, optimizer)
    probe = nn.Linear(8, 2)
    train(probe, torch.optim.SGD(probe.parameters(), lr=0.1))
""",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_model_built_anew_is_found_where_it_is_built(
    name: str, tmp_path: Path, auditor: Nursery
) -> None:
    assert _found(HEAD + WRONG[name], tmp_path, auditor) == {f"GL603:{marked(HEAD + WRONG[name])}"}


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_like_it_and_is_right_is_not(
    name: str, tmp_path: Path, auditor: Nursery
) -> None:
    assert _found(HEAD + RIGHT[name], tmp_path, auditor) == set()


def _found(text: str, folder: Path, auditor: Nursery) -> frozenset[str]:
    program = folder / "train.py"
    program.write_text(text, encoding="utf-8")
    audited = auditor.audit(program)
    assert (audited.error, audited.trouble) == ("", "")
    return audited.findings
