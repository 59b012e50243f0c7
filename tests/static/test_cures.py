"""What a finding tells to do can be done in the code that it is about."""

from __future__ import annotations

from gradledger.ledger import Finding
from gradledger.rules.framework_cures import fix
from tests.static.programs import ONE_NET, check

APEX = """\
from apex import amp
model, optimizer = amp.initialize(model, optimizer)
for x, y in loader:
    optimizer.zero_grad()
    with amp.scale_loss(criterion(model(x), y), optimizer) as scaled:
        scaled.backward()
        nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    optimizer.step()
"""
SCALER = """\
scaler = torch.amp.GradScaler()
for x, y in loader:
    optimizer.zero_grad()
    scaler.scale(criterion(model(x), y)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
KEPT = """\
total, outputs = 0, []
for x, y in loader:
    out = model(x)
    loss = criterion(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {}
"""
AGENT = """\
import torch
from torch import nn
from data import batches

class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, states):
        return self.layer(states)

class Agent:
    def __init__(self):
        self.critic, self.target = Critic(), Critic()
        self.optimizer = torch.optim.Adam(self.critic.parameters())

    def learn(self, states, rewards, followers):
        wanted = rewards + 0.9 * self.target(followers)
        loss = nn.functional.mse_loss(self.critic(states), wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

agent = Agent()
for states, rewards, followers in batches:
    agent.learn(states, rewards, followers)
"""


def the(rule: str, text: str) -> Finding:
    """The finding of this rule."""
    (found,) = (finding for finding in check(text).findings if finding.rule == rule)
    return found


def test_apex_unscales_at_the_end_of_its_block_so_one_clips_behind_it() -> None:
    assert fix(the("GL401", ONE_NET + APEX)).startswith("clip behind the `with amp.scale_loss")


def test_a_scaler_has_a_method_that_unscales() -> None:
    assert "unscale_" in fix(the("GL401", ONE_NET + SCALER))


def test_a_target_net_is_called_by_its_name_and_detached() -> None:
    cure = fix(the("GL601", AGENT))
    assert cure.startswith("if `Agent.target` only gives targets, compute it under torch.no_grad()")


def test_what_is_summed_is_called_by_its_name() -> None:
    kept = the("GL701", ONE_NET + KEPT.format("total += loss"))
    assert fix(kept).startswith("keep the number: total += loss.item(), or loss.detach()")


def test_what_is_appended_is_called_by_its_name() -> None:
    kept = the("GL701", ONE_NET + KEPT.replace("0, []", "[], []").format("total.append(loss)"))
    assert fix(kept).startswith("keep the number: total.append(loss.item()), or loss.detach()")


def test_an_output_is_no_number() -> None:
    kept = the("GL701", ONE_NET + KEPT.format("total += out"))
    assert fix(kept) == "keep it without its graph: total += out.detach()"
