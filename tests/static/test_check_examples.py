"""The checker on the rules' own examples, on the auditor's traps and on frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from gradledger.rules import CATALOGUE, Rule
from gradledger.rules.programs import bad, good
from tests.static.expectations import checked, marked, shown

RULES = [rule for rule in CATALOGUE if rule.seen_by.by_check]
RUNTIME = Path(__file__).parents[1] / "runtime"
EXAMPLES = Path(__file__).parents[2] / "examples"

WASTED = {
    "gan_cleared_at_its_turn.py": {(19, "GL204")},
    "soft_actor_critic.py": {(17, "GL204")},
    "wgan_critic_n_times.py": {(16, "GL204")},
}
"""Right, and yet work for nothing: infos."""

UNSEEN = {
    "accelerate_last_window_short.py": "Accelerate itself closes the window at the loader's end",
    "lightning_last_window_short.py": "Lightning itself closes the window at the loader's end",
    "ignite_divides_twice.py": "ignite's own division is not known to the checker",
    "lightning_losses_kept_in_module.py": "Lightning itself makes the backward of what is kept",
    "lightning_never_clears.py": "Lightning itself makes the step that spends twice",
    "transformers_compute_loss_ignores_items.py": "the Trainer's division depends on a signature",
    "transformers_losses_kept.py": "the Trainer itself makes the backward of what is kept",
    "lightning_module_clears_each_batch.py": "Lightning itself makes the deposits that are lost",
    "transformers_callback_clears.py": "the Trainer itself makes the deposits that are lost",
    "transformers_items_swallowed.py": "the Trainer's own division depends on a signature",
}
"""Faults inside of a framework's own cycle, for `gradledger run` to find."""


FALSE_ALARMS: dict[str, str] = {}
"""Correct programs that the checker still blames, and why."""


def programs(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*.py"))
    assert found
    return found


def right_programs(folder: Path) -> list[ParameterSet]:
    return [
        pytest.param(
            path,
            id=path.stem,
            marks=[pytest.mark.xfail(reason=why)] if (why := FALSE_ALARMS.get(path.name)) else [],
        )
        for path in programs(folder)
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_bad_example_gives_its_finding_on_the_marked_line_and_no_other(rule: Rule) -> None:
    program = bad(rule)
    assert shown(checked(program.path)) == {(line, rule.code) for line in program.marks}


@pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.code)
def test_a_good_example_gives_none(rule: Rule) -> None:
    assert shown(checked(good(rule).path)) == set()


@pytest.mark.parametrize("path", right_programs(RUNTIME / "traps"))
def test_correct_code_that_looks_wrong_gives_no_finding(path: Path) -> None:
    assert shown(checked(path)) == WASTED.get(path.name, set())


@pytest.mark.parametrize("path", right_programs(RUNTIME / "frameworks"))
def test_frameworks_used_as_they_should_be_give_no_finding(path: Path) -> None:
    assert shown(checked(path)) == set()


@pytest.mark.parametrize("path", programs(RUNTIME / "misuse"), ids=lambda path: path.stem)
def test_frameworks_misused_give_the_finding(path: Path) -> None:
    expected = set() if path.name in UNSEEN else marked(path)
    assert shown(checked(path)) == expected


@pytest.mark.parametrize("path", programs(EXAMPLES), ids=lambda path: path.stem)
def test_what_the_stepper_does_is_right(path: Path) -> None:
    assert shown(checked(path)) == set()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_what_the_auditor_observes_the_checker_has(rule: Rule) -> None:
    # The auditor is held to the marks by tests of its own; here, certain or possible will do.
    program = bad(rule)
    has = {(f.at.line, f.rule) for f in checked(program.path).findings}
    assert {(line, rule.code) for line in program.marks} <= has
