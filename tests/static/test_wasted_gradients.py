"""Gradients that are computed for nothing, in projects of more than one file."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.static.programs import check_file, shown

AGENT = """\
import torch

from weights import update_targets


class Agent:
    def __init__(self, actor, critic, target):
        self.actor, self.critic, self.target = actor, critic, target
        self.ours = torch.optim.Adam(self.actor.parameters())
        self.theirs = torch.optim.Adam(self.critic.parameters())

    def update(self, x, y):
        self.theirs.zero_grad()
        (self.critic(x) - y).square().mean().backward()
        self.theirs.step()
        loss = -self.critic(self.actor(x)).mean()
        self.ours.zero_grad()
        loss.backward()
        self.ours.step()
        update_targets(self.target, self.critic)
"""

CALM = """\
def update_targets(target, source):
    for old, new in zip(target.parameters(), source.parameters()):
        old.data.copy_(0.9 * old.data + 0.1 * new.data)
"""


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        pytest.param(CALM, {("GL204", 13)}, id="a file without a word about gradients"),
        pytest.param(
            CALM.replace("update_targets", "others"), set(), id="a file that does not define it"
        ),
        pytest.param(None, set(), id="a file that is not there"),
    ],
)
def test_a_function_of_the_project_has_no_use_for_gradients_if_its_file_never_speaks_of_them(
    tmp_path: Path, weights: str | None, found: set[tuple[str, int]]
) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(dedent(AGENT), encoding="utf-8")
    if weights is not None:
        (tmp_path / "weights.py").write_text(weights, encoding="utf-8")
    assert shown(check_file(agent)) == found
