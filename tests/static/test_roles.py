from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from gradledger.static.lower.training import is_torch
from gradledger.static.project.name_uses import Uses, backwarded

CALLED = re.compile(r"\b(\w+)(?:\[[^][]*\])?\s*\.\s*(step|state_dict|load_state_dict|backward)\b")
BACKWARD = re.compile(r"\b(\w+)(?:\[[^][]*\])?\s*\.backward\(|(?:scale|backward)\(\s*(\w+)\s*\)")
TORCH = re.compile(r"(?:^|[\r\n])[ \t]*(?:import|from)[ \t]+torch|\bimport[ \t]+\*")

pieces = st.sampled_from(
    [
        *("loss", "losses[0]", "x", "_", "é", ".backward()", ".backward(", "backward(", "scale("),
        *(".", "[", "]", "(", ")", " ", "\n", "\t", "\r", "\f", ".step()", "step", "steps"),
        *(".state_dict()", ".load_state_dict(", "def ", "import", "from", "import ", "from "),
        *("torch", "*", "import torch", "from torch import nn", "import *"),
    ]
)
texts = st.lists(pieces, max_size=12).map("".join)


@given(texts)
@example("x[y.backward()].backward()")
@example("loss.backward(gradient)")
@example("scaler.scale(loss).backward()")
def test_backward_is_called_on_the_names_that_a_pattern_finds(text: str) -> None:
    assert backwarded(text) == {a or b for a, b in BACKWARD.findall(text)}


@given(texts)
@example("a[0] . step()")
@example("a[b[0]].step()")
def test_methods_are_called_on_the_names_that_a_pattern_finds(text: str) -> None:
    uses = Uses(text)
    # Of `a.step.backward()`, the name `step` is a part of two calls.
    found = {(m[1], m[2]) for at in range(len(text)) if (m := CALLED.match(text, at))}
    assert found == {(name, method) for name in map(_name, found) for method in uses.of(name)}
    assert all((n, m) in found for n in re.findall(r"\w+", text) for m in uses.of(n))


def _name(pair: tuple[str, str]) -> str:
    return pair[0]


@given(texts)
@example("\tfrom\ttorch import nn")
@example("from x import\t*")
@example("reimport *")
def test_it_is_torch_where_a_line_imports_it(text: str) -> None:
    assert is_torch(text) == bool(TORCH.search(text))
