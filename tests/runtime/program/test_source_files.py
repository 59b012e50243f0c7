"""What the text of a program tells: could it survive an exception, so that it has to be traced?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import gradledger
from gradledger.runtime.program.source_files import Source

PROGRAM = """\
def train():
    try:
        step()  # here
    except {caught}:
        {then}
"""
IN_A_LOOP = """\
while True:
    try:
        step()  # here
    except {caught}:
        {then}
"""


def survives(folder: Path, program: str, *, caught: str, then: str) -> bool:
    path = folder / "program.py"
    text = program.format(caught=caught, then=then)
    path.write_text(text, encoding="utf-8")
    line = next(n for n, code in enumerate(text.splitlines(), start=1) if code.endswith("# here"))
    return Source(str(path)).survives_exceptions_round(line)


@pytest.mark.parametrize("program", [PROGRAM, IN_A_LOOP])
@pytest.mark.parametrize("then", ["raise", "raise ValueError from None", "sys.exit(1)"])
def test_a_handler_that_ends_the_program_is_not_followed(
    program: str, then: str, tmp_path: Path
) -> None:
    assert not survives(tmp_path, program, caught="RuntimeError", then=then)


@pytest.mark.parametrize("then", ["pass", "print('bad batch')", "return"])
def test_a_handler_that_lets_the_program_go_on_is_followed(then: str, tmp_path: Path) -> None:
    assert survives(tmp_path, PROGRAM, caught="RuntimeError", then=then)


def test_a_handler_that_may_go_on_before_it_raises_is_followed(tmp_path: Path) -> None:
    then = "if small:\n            continue\n        raise"
    assert survives(tmp_path, IN_A_LOOP, caught="RuntimeError", then=then)


def test_an_interrupt_that_ends_the_training_is_not_followed(tmp_path: Path) -> None:
    assert not survives(tmp_path, PROGRAM, caught="KeyboardInterrupt", then="pass")


def test_an_interrupt_inside_a_loop_is_followed(tmp_path: Path) -> None:
    assert survives(tmp_path, IN_A_LOOP, caught="KeyboardInterrupt", then="pass")


@pytest.mark.skipif(sys.gettrace() is not None, reason="a debugger or a coverage tool traces")
def test_a_program_that_could_not_go_on_is_not_traced() -> None:
    parameter = nn.Parameter(torch.ones(2))
    with gradledger.audit():
        try:
            parameter.sum().backward()  # type: ignore[no-untyped-call]
            assert sys.gettrace() is None
        except RuntimeError:
            raise


@pytest.mark.skipif(sys.gettrace() is not None, reason="a debugger or a coverage tool traces")
def test_a_program_that_could_go_on_is_traced_until_the_audit_ends() -> None:
    parameter = nn.Parameter(torch.ones(2))
    with gradledger.audit():
        try:
            parameter.sum().backward()  # type: ignore[no-untyped-call]
            assert sys.gettrace() is not None
        except RuntimeError:
            pass
    assert sys.gettrace() is None
