"""What the code of a file says, as against what its docstrings and comments say."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradledger.static.check import check_source, has_gradients
from gradledger.static.project.module import Module
from gradledger.static.project.project import Project
from gradledger.static.source.files import Source
from gradledger.static.source.patterns import does
from gradledger.static.source.vocabulary import BACKWARDS, DEPOSITS, STEPS

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


PIECES = [
    "loss.backward()\n",
    "x = 1\n",
    "# loss.backward()\n",
    'x = 2  # it\'s "new": loss.backward()\n',
    "x = 'loss.backward()'\n",
    'x = "it\'s loss.backward()"\n',
    "x = 'a \\' loss.backward()'\n",
    '"""Says loss.backward()."""\n',
    "x = '''\nloss.backward()\n\"\"\"\n'''\n",
    "x = r'\\''; y = ''; z = \"\"\n",
    'x = \'"""\'; loss.backward()\n',
    "x = f'{a}'; loss.backward(); y = 'b'\n",
]

MISLEADING = [
    'x = """\\"""\nloss.backward()\n"""\n',
    '#"""\n',
]
"""By their number, quotes are open where they are not, or the other way round."""


def called(text: str) -> bool:
    """What Python itself reads: is there a call of a backward among its words?"""
    words = [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline)]
    return any(words[at : at + 2] == ["backward", "("] for at in range(len(words)))


@given(st.lists(st.sampled_from(PIECES + MISLEADING), max_size=7).map("".join))
def test_nothing_that_python_reads_as_code_is_overlooked(text: str) -> None:
    assert does(text, BACKWARDS) or not called(text)


@given(st.lists(st.sampled_from(PIECES), max_size=7).map("".join))
def test_only_what_python_reads_as_code_is_done(text: str) -> None:
    assert does(text, BACKWARDS) is called(text)


@pytest.mark.parametrize("quote", ["'", '"', "'''", '"""'])
def test_a_text_that_never_ends_hides_nothing_behind_its_line(quote: str) -> None:
    assert does(f"x = {quote}oh\n\nloss.backward()\n", BACKWARDS)


def test_a_file_that_only_speaks_of_gradients_is_not_parsed() -> None:
    told = "import torch\nraise ValueError('call loss.backward() and optimizer.step() first')\n"
    assert not has_gradients(Source("train.py", told))
    assert has_gradients(Source("train.py", told + "loss.backward()\n"))


def test_who_steps_himself_and_deposits_nothing_is_left_to_what_he_calls() -> None:
    own = "import torch\nclass Machine:\n    def run(self):\n        self.step()\n"
    assert not has_gradients(Source("machine.py", own))
    assert has_gradients(Source("machine.py", own + "        self.optimizer.step()\n"))
    assert has_gradients(Source("machine.py", own + "        myself.step()\n"))


def test_windows_are_named_in_texts_too() -> None:
    option = "import lightning\nparser.add_argument('--accumulate_grad_batches')\n"
    assert has_gradients(Source("train.py", option))
