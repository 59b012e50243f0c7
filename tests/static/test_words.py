"""What the code of a file says, as against what its docstrings and comments say."""

from __future__ import annotations

import ast

import pytest

from gradledger.static.checking import check_source
from gradledger.static.module import Module
from gradledger.static.project import Project
from gradledger.static.reading.sources import Source
from gradledger.static.vocabulary import DEPOSITS, STEPS

SHOWN = '''import torch

def accumulate(model):
    """Runs in windows.

        loss.backward()
        optimizer.step()
    """
    # then loss.backward() and optimizer.step()
    return model(1)
'''


def module(text: str) -> Module:
    return Module(Source("train.py", text), ast.parse(text))


def test_an_example_in_a_docstring_is_not_followed() -> None:
    checked = check_source(Source("train.py", SHOWN), Project())
    assert (checked.followed, checked.unknown) == (0, ())


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_docstrings_and_comments_say_nothing_and_code_is_where_it_stands(ends: str) -> None:
    code = SHOWN + "\ndef train(loss):\n    'Deposits.'\n    loss.backward()\n"
    read = module(code.replace("\n", ends))
    (shown, trains) = read.tree.body[1:]
    assert not read.says(DEPOSITS, shown)
    assert not read.says(STEPS, shown)
    assert read.says(DEPOSITS, trains)
    assert read.calls(trains)[1] == (("loss", "backward"),)


def test_what_a_docstring_calls_is_not_called() -> None:
    read = module("\n".join(line for line in SHOWN.split("\n") if "#" not in line))
    assert read.calls(read.tree.body[1]) == (("accumulate", "model"), ())


@pytest.mark.parametrize(
    "line",
    [
        "def f(loss): 'Deposits.'; loss.backward()",
        "def f(loss):\n    'Deposits.'; loss.backward()",
        "def f(loss): '''Deposits,\n    at once.'''; loss.backward()",
        "def f(loss):\n    '''Deposits,\n    at once.'''; loss.backward()",
    ],
)
def test_code_on_the_line_of_a_docstring_is_code(line: str) -> None:
    read = module(line)
    assert read.says(DEPOSITS, read.tree.body[0])


def test_a_docstring_on_the_line_of_its_function_leaves_that_a_function() -> None:
    read = module("def f(loss, g=h()): 'Calls g().'\n")
    assert "h" in read.calls(read.tree.body[0])[0]
    assert read.says(DEPOSITS, read.tree.body[0]) is False


@pytest.mark.parametrize("around", ["class C:\n", "if True:\n", "try:\n"])
def test_docstrings_are_known_wherever_functions_are_defined(around: str) -> None:
    after = "except E: pass\n" if around == "try:\n" else ""
    read = module(f"{around}    def f(loss):\n        'loss.backward()'\n        loss\n{after}")
    assert not read.says(DEPOSITS, read.tree.body[0])
