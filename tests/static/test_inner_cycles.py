"""A root that is too large: the whole cycles inside of it are judged by themselves."""

from __future__ import annotations

import pytest

from gradledger.static import budget
from gradledger.static.result import Checked
from tests.static.programs import check, shown

AGENT = """\
import torch

class Agent:
    def __init__(self, policy):
        self.policy = policy

    def learn(self, env, total):
        while self.steps < total:
            self.collect(env)
            self.train()
{more}
    def collect(self, env):
        self.buffer.add(env.step(self.policy(env.state)))

    def train(self):
        for epoch in range(self.n_epochs):
            for batch in self.buffer.get(self.batch_size):
                loss = self.policy.evaluate(batch).mean()
                {clear}
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)
                self.policy.optimizer.step()
"""
CLEAR = "self.policy.optimizer.zero_grad()"
UNKNOWN_CALL = "            backprop_hook(self.policy.optimizer)\n"
STEP = 23
"""The line of the step."""


def agent(clear: str, more: str = UNKNOWN_CALL) -> Checked:
    return check(AGENT.format(clear=clear, more=more))


def test_a_whole_cycle_in_an_unknown_root_is_followed_by_itself() -> None:
    checked = agent(CLEAR)
    assert (shown(checked), checked.followed, checked.unknown) == (set(), 1, ())


def test_its_fault_is_found() -> None:
    assert ("GL101", STEP) in shown(agent("pass"))


def test_who_leaves_the_clears_to_the_root_is_not_judged_without_it() -> None:
    checked = agent("pass", f"            {CLEAR}\n{UNKNOWN_CALL}")
    assert (checked.followed, [u.what for u in checked.unknown]) == (0, ["Agent.learn()"])


def test_what_is_deposited_beside_the_cycles_stays_unknown() -> None:
    more = "            self.policy(env.state).sum().backward()\n"
    checked = agent(CLEAR, more + UNKNOWN_CALL)
    assert [unknown.what for unknown in checked.unknown] == ["Agent.learn()"]


def test_no_more_of_them_than_the_bound_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_INNER_CYCLES", 0)
    checked = agent(CLEAR)
    assert (checked.followed, [u.what for u in checked.unknown]) == (0, ["Agent.learn()"])
