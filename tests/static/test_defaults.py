"""A finding that needs a larger window than the default says where the default stands."""

from __future__ import annotations

import pytest

from gradledger.static.certainty.option_defaults import NOTE
from tests.static.programs import ONE_NET, check

ARGPARSE = """\
from argparse import ArgumentParser
parser = ArgumentParser()
parser.add_argument("-a", "--grad-accum", type=int, default={default})
args = parser.parse_args()
"""
DEST = """\
from argparse import ArgumentParser
parser = ArgumentParser()
parser.add_argument("--accumulate", dest="grad_accum", type=int, default={default})
args = parser.parse_args()
"""
FIELD = """\
from dataclasses import dataclass
@dataclass
class Settings:
    grad_accum: int = {default}
args: Settings = load()
"""

LOOP = """
import torch
from torch import nn

def train(model, loader, args):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.mse_loss(model(x), y) / args.grad_accum
            loss.backward()
            if (i + 1) % args.grad_accum == 0:
                optimizer.step()
                optimizer.zero_grad()
"""

PARAMETER = """
import torch
from torch import nn

def train(model, loader, *, accumulate={default}):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for i, (x, y) in enumerate(loader):
            nn.functional.mse_loss(model(x), y).backward()
            if (i + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
"""

PROGRAMS = {
    "an argument": (ARGPARSE + LOOP, 3),
    "an argument with another name": (DEST + LOOP, 3),
    "a field": (FIELD + LOOP, 4),
    "a parameter": (PARAMETER, 5),
}


def defaults_told(text: str) -> dict[str, list[int]]:
    """By rule, the lines on which a default of 1 is said to stand."""
    found: dict[str, list[int]] = {}
    for finding in check(text).findings:
        lines = found.setdefault(finding.rule, [])
        lines += [e.at.line for e in finding.evidence if e.at and e.what == "default"]
        assert all(e.note == NOTE for e in finding.evidence if e.what == "default")
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_default_of_1_is_told(name: str) -> None:
    text, line = PROGRAMS[name]
    told = defaults_told(text.format(default=1))
    assert told["GL203"] == [line]


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_default_is_none_of_its_business(name: str) -> None:
    told = defaults_told(PROGRAMS[name][0].format(default=4))
    assert told["GL203"] == []


def test_what_a_window_of_1_breaks_too_has_no_such_excuse() -> None:
    text = ARGPARSE.format(default=1) + LOOP.replace("                optimizer.zero_grad()\n", "")
    assert defaults_told(text)["GL101"] == []


def test_one_of_two_windows_with_a_default_is_no_excuse() -> None:
    nested = LOOP.replace(
        "                optimizer.step()\n",
        "                optimizer.step()\n            if (i + 1) % args.every == 0:\n"
        "                loss = model(x).sum()\n                loss.backward()\n",
    )
    text = ARGPARSE.format(default=1) + nested
    assert defaults_told(text)["GL203"] == []


SIZES = {
    "a name": ("n = 1", "n", 14),
    "an attribute of a class": ("class Config:\n    n = 1", "Config.n", 15),
    "an item of a dict": ('options = {"n": 1}', 'options["n"]', 14),
    "an argument of a call": (
        "from types import SimpleNamespace\nargs = SimpleNamespace(n=1)",
        "args.n",
        15,
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_size_of_1_in_the_source_is_an_option_and_its_finding_names_it(name: str) -> None:
    said, size, line = SIZES[name]
    loop = (
        "for i, (x, y) in enumerate(loader):\n    loss = criterion(model(x), y){}\n"
        "    loss.backward()\n    if (i + 1) % {} == 0 or i + 1 == len(loader):\n"
        "        optimizer.step()\n        optimizer.zero_grad()\n"
    )
    wrong = check(f"{ONE_NET}\n{said}\n{loop.format('', size)}")
    (finding,) = [f for f in wrong.findings if f.certainty != "possible"]
    assert finding.rule == "GL301"
    assert finding.condition.startswith("only with ")
    assert finding.condition.endswith(f" above 1; it is 1 on line {line}")
    right = check(f"{ONE_NET}\n{said}\n{loop.format(f' / {size}', size)}")
    assert all(f.certainty == "possible" for f in right.findings)
