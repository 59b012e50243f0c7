"""With too many paths, each optimizer is followed by itself: nothing is lost, nothing invented."""

from __future__ import annotations

from hypothesis import given, reject

from gradledger.ledger import Place
from gradledger.ledger.events import BY_HAND, Step
from gradledger.rules import judge, stops
from gradledger.static import Do, Interpreter, Program, Sequence, TooManyPaths
from gradledger.static.certainty.by_rule import conditions_of
from gradledger.static.certainty.findings import by_paths
from gradledger.static.ir.one_optimizer import alone, owners
from gradledger.static.solve.solver import ONE_BY_ONE, TOO_MANY, Solution
from tests.examples import examples
from tests.static.programs import check, shown
from tests.strategies import OPENING, OWNED, programs

Faults = dict[tuple[str, Place], str]


def faults(program: Program) -> Faults:
    """What is broken where, and how surely."""
    interpreter = Interpreter(judge, stops=stops, most_visits=6000)
    try:
        interpreter.run(program)
    except TooManyPaths:
        reject()
    found = by_paths(Solution(program, interpreter))
    return {(finding.rule, finding.at): finding.certainty for finding in found}


def of_one_owner(found: Faults) -> Faults:
    return {
        fault: sure for fault, sure in found.items() if conditions_of(fault[0]).of_one_optimizer
    }


@given(programs)
@examples(400)  # takes seconds: each is solved whole, and once more for each owner
def test_what_is_broken_is_broken_for_some_owner_alone(program: Program) -> None:
    whole = Sequence((*map(Do, OPENING), program))
    found: Faults = {}
    for owner in owners(whole):
        found |= of_one_owner(faults(alone(whole, owner)))
    together = faults(whole)
    assert of_one_owner(together).keys() <= found.keys()
    if any(stops(rule) for rule, _ in together):
        return  # the program dies of another owner's cells, and what comes after never happens
    # Together, the same may be another owner's fault: what is spent again came from elsewhere.
    blamed = {at for _, at in together}
    assert {at for (_, at), sure in found.items() if sure == "certain"} <= blamed


def test_what_is_updated_by_hand_alone_is_followed_by_itself() -> None:
    by_hand = Step(Place("train.py", 10), BY_HAND, cells=frozenset({"x", "g.weight"}))
    names = [owner.optimizer for owner in owners(Sequence((*map(Do, OPENING), Do(by_hand))))]
    assert names == [*OWNED, BY_HAND]
    assert owners(Sequence((*map(Do, OPENING), Do(by_hand))))[-1].cells == {"x"}


CROWDED = """\
import torch
from torch import nn

from data import loader, when

critic = nn.Linear(3, 1)
critic_optimizer = torch.optim.Adam(critic.parameters())
"""


def crowded(*, cleared: bool) -> str:
    """Nets that are trained now and then, and a critic in each round: too many paths together."""
    lines = CROWDED.splitlines()
    for i in range(7):
        lines.append(f"net{i} = nn.Linear(8, 3)")
        lines.append(f"optimizer{i} = torch.optim.Adam(net{i}.parameters())")
    lines.append("for x, y in loader:")
    for i in range(7):
        lines.append(f"    if when('training', {i}):")
        lines.append(f"        nn.functional.mse_loss(net{i}(x), y).backward()")
        lines.append(f"    if when('stepping', {i}):")
        lines.append(f"        optimizer{i}.step()")
        lines.append(f"        optimizer{i}.zero_grad()")
    if cleared:
        lines.append("    critic_optimizer.zero_grad()")
    lines.append("    critic(y).mean().backward()")
    lines.append("    critic_optimizer.step()")
    return "\n".join(lines)


def test_what_one_of_many_does_wrong_is_found() -> None:
    text = crowded(cleared=False)
    checked = check(text)
    assert [unknown.why for unknown in checked.unknown] == [ONE_BY_ONE]
    assert shown(checked) == {("GL101", len(text.splitlines()))}


def test_who_does_right_among_many_is_not_blamed() -> None:
    checked = check(crowded(cleared=True))
    assert [unknown.why for unknown in checked.unknown] == [ONE_BY_ONE]
    assert shown(checked) == set()


def tangled(*, early: bool) -> str:
    """One optimizer with too many paths of its own, its schedule, and a critic with few."""
    lines = CROWDED.splitlines()
    lines += [f"net{i} = nn.Linear(8, 3)" for i in range(9)]
    every = ", ".join(f"*net{i}.parameters()" for i in range(9))
    lines.append(f"tangled = torch.optim.Adam([{every}])")
    lines.append("schedule = torch.optim.lr_scheduler.StepLR(tangled, 10)")
    lines.append("for epoch in range(10):")
    lines += ["    schedule.step()"] * early
    lines.append("    for x, y in loader:")
    for i in range(9):
        lines.append(f"        if when('training', {i}):")
        lines.append(f"            nn.functional.mse_loss(net{i}(x), y).backward()")
        lines.append(f"        if when('clearing', {i}):")
        lines.append(f"            net{i}.zero_grad()")
    lines.append("        tangled.step()")
    lines.append("        critic_optimizer.zero_grad()")
    lines.append("        critic(y).mean().backward()")
    lines.append("        critic_optimizer.step()")
    lines += ["    schedule.step()"] * (not early)
    return "\n".join(lines)


def test_who_has_too_many_paths_by_himself_is_named() -> None:
    for early in (True, False):
        unknown = check(tangled(early=early)).unknown
        assert [each.why for each in unknown] == [f"{ONE_BY_ONE}, and not those of tangled"]


def test_a_schedule_is_followed_where_its_optimizer_is_not() -> None:
    text = tangled(early=True)
    at = text.splitlines().index("    schedule.step()") + 1
    assert shown(check(text)) == {("GL503", at)}


def test_a_schedule_in_its_place_is_not_blamed() -> None:
    assert shown(check(tangled(early=False))) == set()


def test_the_schedule_of_an_only_optimizer_is_followed() -> None:
    lines = [line for line in tangled(early=True).splitlines() if "critic" not in line]
    checked = check("\n".join(lines))
    assert [unknown.why for unknown in checked.unknown] == [TOO_MANY]
    assert shown(checked) == {("GL503", lines.index("    schedule.step()") + 1)}


def test_a_schedule_behind_the_step_of_one_of_two_optimizers_by_one_name_is_not_blamed() -> None:
    text = tangled(early=False)
    made = next(line for line in text.splitlines() if line.strip().startswith("tangled ="))
    two = f"if quick:\n    {made.strip()}\nelse:\n    {made.strip().replace('lr=0.1', 'lr=0.2')}"
    text = text.replace(made, two)
    text = text.replace("        tangled.step()", "        tangled.step()\n        schedule.step()")
    assert "GL503" not in {rule for rule, _ in shown(check(text))}
