"""Gradients that nobody can spend are nothing to check; those that somebody may spend are."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.static.programs import check, check_file

TEST = """\
import torch
from layers import Layer

def test_backward():
    layer = Layer(3)
    loss = layer(torch.rand(2, 3)).sum()
    loss.backward()
    {more}
"""

ALONE = {
    "nothing else": "pass",
    "a look at the gradients": "assert all(p.grad.norm() > 0 for p in layer.parameters())",
    "a net that is given to a function which is not found": "from checks import same; same(layer)",
    "two gradients compared": "assert (layer.a.grad - layer.b.grad).abs().max() < 1e-6",
}


@pytest.mark.parametrize("more", ALONE.values(), ids=ALONE)
def test_a_test_in_which_nothing_steps_is_followed(more: str) -> None:
    checked = check(TEST.format(more=more), path="test_layers.py")
    assert not checked.unknown
    assert not checked.findings
    assert checked.followed == 1


SPENT = {
    "a trainer": "Trainer(layer).train()",
    "an optimizer that is only made": "torch.optim.SGD(layer.parameters(), lr=0.1)",
    "an engine": "engine.update(layer)",
    "a step by its name": "do_step(layer)",
    "a library's optimizer": "opt = make(layer); opt.go()",
    "a function that is not found": "fit_once(layer)",
    "a library's function": "from somewhere import train; train([layer])",
    "an object that is given the net": "helper = torch.nn.Identity(); helper.learn(net=layer)",
}


@pytest.mark.parametrize("more", SPENT.values(), ids=SPENT)
def test_a_test_that_may_step_stays_unknown(more: str) -> None:
    (unknown,) = check(TEST.format(more=more), path="test_layers.py").unknown
    assert unknown.what == "test_backward()"


def test_a_function_that_others_may_call_stays_unknown() -> None:
    text = TEST.format(more="pass").replace("test_backward", "deposit")
    assert check(text, path="train.py").unknown
    assert not check(text, path="layer_test.py").unknown


@pytest.mark.parametrize("name", ["backward", "_backward", "run_backward", "amp_backward"])
def test_what_stands_for_a_backward_leaves_the_step_to_its_callers(name: str) -> None:
    text = f"import torch\n\ndef {name}(loss, scale):\n    (loss * scale).backward()\n"
    assert not check(text, path="train.py").unknown
    assert check(text.replace(f"def {name}", "def deposit"), path="train.py").unknown
    assert check(text + "    step_all(optimizer_step(loss))\n", path="train.py").unknown


def test_a_method_of_a_test_case_is_a_test() -> None:
    text = """
        import torch, unittest

        class Layers(unittest.TestCase):
            def test_it(self):
                self.run_it(torch.nn.Linear(2, 2))

            def run_it(self, layer):
                layer(torch.rand(1, 2)).sum().backward()
                assert layer.weight.grad is not None
        """
    checked = check(dedent(text), path="tests/test_layers.py")
    assert not checked.unknown
    assert checked.followed == 1


def test_what_a_test_calls_in_another_file_may_step(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text(
        "import torch\nfrom helper import move\n\ndef test_it():\n"
        "    layer = torch.nn.Linear(2, 2)\n    layer(torch.rand(1, 2)).sum().backward()\n"
        "    move(layer)\n"
    )
    (tmp_path / "helper.py").write_text("def move(net):\n    return 3\n")
    assert not check_file(test).unknown
    (tmp_path / "helper.py").write_text("def move(net):\n    net.updater.step()\n")
    assert not check_file(test).followed or check_file(test).unknown


TOUR = """\
import torch

x = torch.ones(2, 2, requires_grad=True)
y = (x + 2).mean()
y.backward()
print(x.grad)
"""


def test_a_tour_of_autograd_is_followed() -> None:
    checked = check(TOUR, path="tour.py")
    assert not checked.unknown
    assert checked.followed == 1


NOT_FOUND = """\
import torch
from somewhere import advance

net = torch.nn.Linear(2, 1)
for x in data:
    net.loss(x).backward()
    {more}
"""


@pytest.mark.parametrize("more", ["advance(net)", "advance.go(x, net)", "y = advance(*net)"])
def test_a_script_that_hands_its_net_to_what_is_not_found_is_unknown(more: str) -> None:
    assert check(NOT_FOUND.format(more=more), path="loop.py").unknown
    assert not check(NOT_FOUND.format(more="print(net)"), path="loop.py").unknown


@pytest.mark.parametrize("more", ["trainer.go()\n", "optimizer = make(x)\noptimizer.go()\n"])
def test_a_script_that_may_step_stays_unknown(more: str) -> None:
    assert check(TOUR + more, path="tour.py").unknown
