"""What trains through something that is not found is unknown, and nothing else becomes so."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.static.programs import check, check_file

TRAIN = """\
import torch
{imports}

def train_one_epoch(model, loader, criterion, optimizer, driver, scheduler, meter, args):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
{body}
"""


def program(body: str, imports: str = "") -> str:
    return TRAIN.format(imports=imports, body=indent(body, "        "))


TRAINS = {
    "a parameter gets both": "driver(loss, optimizer, parameters=model.parameters())",
    "divided": "driver(loss / args.accum, optimizer)",
    "after a clear": "optimizer.zero_grad()\ndriver(loss, optimizer)",
    "an object of a library": "trainer = Trainer(model)\ntrainer.step(loss)",
    "a function of a library": "update(loss, optimizer)",
    "an attribute": "args.engine.train_step(loss)",
}
IMPORTS = "from somewhere import Trainer, update"


@pytest.mark.parametrize("body", TRAINS.values(), ids=TRAINS)
def test_a_loss_that_is_handed_to_something_not_found_makes_it_unknown(body: str) -> None:
    checked = check(program(body, IMPORTS))
    (unknown,) = checked.unknown
    assert unknown.what == "train_one_epoch()"
    assert "was not found" in unknown.why
    assert not checked.findings


SILENT = {
    "a meter": "meter.update(loss, x.size(0))",
    "a schedule": "scheduler.step(loss)",
    "a logger": "print(loss, optimizer.param_groups[0]['lr'])\nmeter.log(loss, optimizer)",
    "torch": "torch.save((loss, optimizer), 'x')",
    "no loss": "adjust(optimizer, i)",
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_a_loss_that_is_only_looked_at_is_none(body: str) -> None:
    checked = check(program(body, "from somewhere import adjust"))
    assert not checked.unknown
    assert not checked.findings


def test_what_is_called_once_is_no_loop_that_trains() -> None:
    text = program("pass").replace("    for i, (x, y) in enumerate(loader):\n", "    if loader:\n")
    assert not check(text.replace("pass", "driver(loss, optimizer)")).unknown


TURN = """\
import torch

class Agent:
    def learn(self, batch, optim_wrapper):
        loss = self.policy(batch).pow(2).mean()
        {call}
        return loss.item()
"""


@pytest.mark.parametrize("call", ["self.optim.step(loss)", "optim_wrapper.update_params(loss)"])
def test_an_optimizer_that_gets_the_loss_trains_in_no_loop_as_well(call: str) -> None:
    (unknown,) = check(TURN.format(call=call)).unknown
    assert unknown.what == "Agent.learn()"
    assert unknown.why == f"what `{call[:-6]}()` does with the loss was not found"


@pytest.mark.parametrize("call", ["self.optim_scheduler.step(loss)", "self.log.step(loss)"])
def test_who_only_looks_at_the_loss_trains_nothing(call: str) -> None:
    assert not check(TURN.format(call=call)).unknown


def test_what_is_found_in_the_project_says_itself_what_it_does(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(
        "import torch\ndef show(loss, optimizer):\n    print(loss)\n"
    )
    main = tmp_path / "main.py"
    main.write_text(program("show(loss, optimizer)", "from helper import show"))
    assert not check_file(main).unknown


STEPPED = """\
import torch

class Trainer:
    def {name}(self, samples):
        self.optimizer.zero_grad()
        for sample in samples:
            loss = self.task.train_step(sample, self.model, self.optimizer)
        self.optimizer.step()
"""


def test_a_step_whose_deposits_are_made_out_of_sight_is_unknown() -> None:
    (unknown,) = check(STEPPED.format(name="train_step")).unknown
    assert unknown.what == "Trainer.train_step()"
    assert unknown.why == "no deposit was followed that its step spends"


def test_an_optimizer_that_clears_in_its_step_is_none() -> None:
    assert not check(STEPPED.format(name="second_step")).unknown
