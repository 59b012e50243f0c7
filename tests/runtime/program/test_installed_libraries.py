"""Passes that an installed library makes: each has the library's own line, and the way in."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

import gradledger
from gradledger.ledger.findings import Finding

LIBRARY = """\
import torch
from torch import nn


class Agent:
    def __init__(self):
        torch.manual_seed(0)
        self.actor, self.critic = nn.Linear(4, 2), nn.Linear(2, 1)
        self.actor_optimizer = torch.optim.SGD(self.actor.parameters(), lr=0.01)
        self.critic_optimizer = torch.optim.SGD(self.critic.parameters(), lr=0.01)

    def learn(self, rounds):
        for _ in range(rounds):
            state = torch.randn(8, 4)
            critic_loss = self.critic(self.actor(state).detach()).square().mean()
            self.critic_optimizer.zero_grad()  # wasted
            critic_loss.backward()  # own
            self.critic_optimizer.step()
            actor_loss = -self.critic(self.actor(state)).mean()
            self.actor_optimizer.zero_grad()
            actor_loss.backward()  # foreign
            self.actor_optimizer.step()


class Inference:
    def __init__(self, parameter):
        self.optimizer = Optimizer(torch.optim.SGD([parameter], lr=0.1))
        self.parameter = parameter

    def step(self):
        self.optimizer.zero_grad()
        self.parameter.square().sum().backward(retain_graph=True)  # retained
        self.optimizer.step()


class Optimizer:
    def __init__(self, inner):
        self.inner = inner

    def step(self):
        self.inner.step()

    def zero_grad(self):
        self.inner.zero_grad()


def backward(loss, *args, **kwargs):
    scaled = loss * 1.0
    scaled.backward(*args, **kwargs)
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """An installed package."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    folder.joinpath("learning_library.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("learning_library")
    del sys.modules["learning_library"]


def line(mark: str) -> int:
    """The library's line that ends with this remark."""
    return next(n for n, text in enumerate(LIBRARY.splitlines(), 1) if text.endswith(f"# {mark}"))


def only(findings: tuple[Finding, ...]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


def test_passes_of_one_call_are_told_apart_by_the_lines_of_the_library(
    library: ModuleType,
) -> None:
    with gradledger.audit() as book:
        library.Agent().learn(10)
    finding = only(book.findings)
    assert (finding.rule, finding.at.path) == ("GL204", library.__file__)
    assert finding.at.line == line("wasted")
    deposited = next(e.at for e in finding.evidence if e.what == "deposited")
    assert deposited is not None
    assert deposited.line == line("foreign")


def test_the_program_s_line_is_the_way_in(library: ModuleType) -> None:
    with gradledger.audit() as book:
        library.Agent().learn(10)
    way_in = only(book.findings).at.via
    assert way_in is not None
    assert way_in.path == __file__
    assert "learn(10)" in Path(__file__).read_text().splitlines()[way_in.line - 1]


def test_the_source_of_the_library_and_of_the_way_in_is_at_hand(library: ModuleType) -> None:
    with gradledger.audit() as book:
        library.Agent().learn(10)
    assert {__file__, library.__file__} <= set(book.verdict("here").sources)


def test_what_the_library_retains_stands_in_its_line(library: ModuleType) -> None:
    inference = library.Inference(nn.Parameter(torch.ones(3)))
    with gradledger.audit() as book:
        for _ in range(5):
            inference.step()
    finding = only(book.findings)
    assert (finding.rule, finding.at.line) == ("GL703", line("retained"))


def test_what_a_library_only_passes_on_stands_in_the_program_s_line(library: ModuleType) -> None:
    parameter = nn.Parameter(torch.ones(3))
    optimizer = library.Optimizer(torch.optim.SGD([parameter], lr=0.1))
    with gradledger.audit() as book:
        for _ in range(5):
            library.backward(parameter.square().sum())
            optimizer.step()
    finding = only(book.findings)
    assert (finding.rule, finding.at.path, finding.at.via) == ("GL101", __file__, None)
    places = [e.at for e in finding.evidence if e.at is not None]
    assert all((place.path, place.via) == (__file__, None) for place in places)


ENGINE = """\
class Config:
    gradient_accumulation_steps: int

    def __init__(self, steps):
        self.gradient_accumulation_steps = steps


class DeepSpeedEngine:
    def __init__(self, optimizer, steps):
        self.optimizer, self._config, self.micro_steps = optimizer, Config(steps), 0

    def backward(self, loss, scale_wrt_gas=True):
        loss = loss / self._config.gradient_accumulation_steps if scale_wrt_gas else loss
        loss.backward()

    def step(self):
        self.micro_steps += 1
        if self.micro_steps % self._config.gradient_accumulation_steps == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
"""
"""As much of DeepSpeed's engine as an audit looks at: the real one is not installed here."""


@pytest.fixture
def deepspeed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    folder = tmp_path / "site-packages" / "deepspeed" / "runtime"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        package.joinpath("__init__.py").touch()
    folder.joinpath("engine.py").write_text(ENGINE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    yield importlib.import_module("deepspeed.runtime.engine")
    for name in ("deepspeed", "deepspeed.runtime", "deepspeed.runtime.engine"):
        del sys.modules[name]


def data() -> torch.utils.data.DataLoader[torch.Tensor]:
    rows: list[torch.Tensor] = list(torch.randn(32, 3))
    return torch.utils.data.DataLoader(rows, batch_size=4)  # type: ignore[arg-type]


def test_a_loss_that_deepspeed_divides_as_well_is_found_where_the_program_divides(
    deepspeed: ModuleType,
) -> None:
    parameter = nn.Parameter(torch.ones(3))
    engine = deepspeed.DeepSpeedEngine(torch.optim.SGD([parameter], lr=0.1), steps=4)
    with gradledger.audit() as book:
        for batch in data():
            loss = (batch * parameter).square().mean()
            loss = loss / 4  # the second division
            engine.backward(loss)
            engine.step()
    finding = only(book.findings)
    assert (finding.rule, finding.at.path) == ("GL303", __file__)
    code = Path(__file__).read_text().splitlines()[finding.at.line - 1]
    assert code.endswith("# the second division")
    assert "engine.backward" in finding.cure


def test_a_loss_that_only_deepspeed_divides_is_right(deepspeed: ModuleType) -> None:
    parameter = nn.Parameter(torch.ones(3))
    engine = deepspeed.DeepSpeedEngine(torch.optim.SGD([parameter], lr=0.1), steps=4)
    with gradledger.audit() as book:
        for batch in data():
            engine.backward((batch * parameter).square().mean())
            engine.step()
    assert book.findings == ()
    assert book.tally.steps == 2
