"""An engine of DeepSpeed's owns the cycle: code that deposits and steps by it is followed."""

from __future__ import annotations

import pytest

from tests.static.programs import check

TRAIN = """\
import torch
import deepspeed

def train({parameters}):
    {made}
    for x, y in loader:
        loss = engine(x, y)
        {body}
"""
MADE = "engine, _, _, _ = deepspeed.initialize(model=model, config=config)"
CYCLE = "engine.backward(loss); engine.step()"


@pytest.mark.parametrize(
    ("parameters", "made"),
    [("model, config, loader", MADE), ("engine, loader", "engine.train()")],
    ids=["made here", "given, in a file that imports it"],
)
def test_a_loop_on_an_engine_is_followed(parameters: str, made: str) -> None:
    checked = check(TRAIN.format(parameters=parameters, made=made, body=CYCLE))
    assert checked.followed == 1
    assert not checked.unknown
    assert not checked.findings


def test_an_engine_that_never_steps_is_not() -> None:
    text = TRAIN.format(parameters="model, config, loader", made=MADE, body="engine.backward(loss)")
    assert check(text).unknown


def test_an_engine_of_nobody_knows_whom_is_not() -> None:
    text = TRAIN.format(parameters="engine, loader", made="engine.train()", body=CYCLE)
    assert check(text.replace("import deepspeed\n", "")).unknown


def test_an_optimizer_with_a_backward_of_its_own_is_none() -> None:
    body = "engine.zero_grad(); engine.backward(loss); engine.step()"
    assert check(TRAIN.format(parameters="engine, loader", made="pass", body=body)).unknown
