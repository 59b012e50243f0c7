"""Checking ends: work is counted, and what takes more than is worth it is unknown."""

from __future__ import annotations

import pytest

from gradledger.static import budget
from gradledger.static import check as pipeline
from gradledger.static.domain.scopes import TOO_MUCH, Effort
from gradledger.static.solve import solver
from tests.static.programs import ONE_NET, check

TRAINS = """
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""

BRANCHING = 3
DEEP = 8
"""3**8 is 6,561 calls: more than `MOST_WORK`, and few enough to fail in seconds."""

TABLE = ", ".join(map(str, range(4_000)))


def loops_in_loops(name: str, first: str = "") -> str:
    """Functions that call each other in loops in which nothing happens."""
    functions = [
        f"def {name}_{i}(n):\n"
        + (first if i == 0 else "")
        + "    for _ in range(n):\n        norm = model.grad_norm\n"
        + f"        {name}_{i + 1}(n)\n" * BRANCHING
        for i in range(DEEP)
    ]
    return "".join(functions) + f"def {name}_{DEEP}(n):\n    return optimizer\n\n"


NO_END = {
    "loops, in which nothing happens, call functions with such loops": (
        loops_in_loops("deep") + "deep_0(2)\n"
    ),
    "lambdas call each other, and have no statements": "".join(
        f"f{i} = lambda n: (optimizer, {f'f{i + 1}(n), ' * BRANCHING})\n" for i in range(DEEP)
    )
    + f"f{DEEP} = lambda n: optimizer\nf0(2)\n",
    "a function with a large table is called again and again": (
        f"def settings(optimizer):\n    table = [{TABLE}]\n    return optimizer\n\n"
        + "settings(optimizer)\n" * 150
    ),
    "lists in lists are gone through item by item": (
        f"def train(name):\n    table = [{TABLE}]\n    return optimizer\n\n"
        "for a in ['a', 'b', 'c', 'd']:\n"
        "    for b in ['a', 'b', 'c', 'd']:\n"
        "        for c in ['a', 'b', 'c', 'd', 'e', 'f']:\n"
        "            train(a + b + c)\n"
        "            train(c + b + a)\n"
    ),
    "more modules are replaced than anybody reads": "".join(
        f"model.layer{i} = nn.Linear(8, 3)\n" for i in range(budget.MOST_EVENTS)
    ),
}


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The statements that were walked: one item for each."""
    statements: list[int] = []
    count = Effort.count_statement

    def counting(self: Effort) -> None:
        statements.append(1)
        count(self)

    monkeypatch.setattr(Effort, "count_statement", counting)
    return statements


@pytest.mark.parametrize("program", NO_END.values(), ids=NO_END)
def test_what_has_no_end_is_told_as_unknown(program: str, walked: list[int]) -> None:
    checked = check(ONE_NET + program + TRAINS)
    assert [unknown.why for unknown in checked.unknown] == [TOO_MUCH]
    assert (checked.findings, checked.followed) == ((), 0)
    assert len(walked) <= budget.MOST_WORK


def test_so_is_what_has_no_end_together(walked: list[int]) -> None:
    trains = "    criterion(model(n), n).backward()\n    optimizer.step()\n"
    functions = [loops_in_loops(name, trains) for name in "abcdefgh"]
    checked = check(ONE_NET + "".join(functions))
    assert [unknown.why for unknown in checked.unknown] == [TOO_MUCH] * len(functions)
    assert len(walked) <= budget.MOST_WORK_IN_A_FILE


def test_no_more_paths_are_followed_than_a_file_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [TRAINS.replace("\n", "\n    ").replace("\n", f"\ndef f{i}():\n", 1) for i in "abc"]
    program = ONE_NET + "\n".join(functions)
    assert check(program).followed == len(functions)
    monkeypatch.setattr(budget, "MOST_OUTCOMES_IN_A_FILE", 1)
    why = [unknown.why for unknown in check(program).unknown]
    assert why == [solver.TOO_MANY, pipeline.TOO_LATE, pipeline.TOO_LATE]


def test_a_base_class_that_nobody_has_the_time_to_look_for_is_unknown() -> None:
    program = (
        f"""{ONE_NET}
def base(name):
    return optimizer and nn.Module

class Net(base("net")):
    def fit(self):
        self(x).backward()
        optimizer.step()

"""
        + "base('another')\n" * budget.MOST_WORK
    )
    assert {unknown.why for unknown in check(program).unknown} == {TOO_MUCH}


def test_a_script_whose_trainer_is_out_of_sight_is_not_walked(walked: list[int]) -> None:
    program = """
import pytorch_lightning as pl
from torch import nn

class Net(pl.LightningModule):
    def __init__(self, size):
        super().__init__()
        self.layer = nn.Linear(size, 1)

    def training_step(self, batch, batch_idx):
        self.lr_schedulers().step()
        return self.layer(batch).mean()

def main(size, folds):
    for fold in folds:
        net = Net(size)
        trainer = pl.Trainer(accumulate_grad_batches=4)
        trainer.fit(net)

for size in [1, 2, 3, 4]:
    for width in ["a", "b", "c"]:
        main(size, [0, 1, 2, 3])
"""
    assert check(program).unknown == ()
    of_the_class = 2 + 2
    assert len(walked) == of_the_class
