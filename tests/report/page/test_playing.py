"""The ledger player on the page of a run."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from gradledger.ledger.findings import Finding
from gradledger.report.chronicle import Chronicle, together
from gradledger.report.chronicle.filming import AFTER, BEFORE
from gradledger.report.page.playing import MOST_ROWS, play
from gradledger.rules.ordering import ordered
from tests.report.page import scenes
from tests.report.page.conftest import Visit


def _played(chronicle: Chronicle) -> dict[str, Any]:
    verdict = together([chronicle])
    findings: list[Finding] = ordered(verdict.findings)
    made = play([chronicle], findings, verdict.sources, "step")
    assert made is not None
    return made


def _numbers(made: dict[str, Any]) -> list[int]:
    return [step["rounds"][0]["number"] for step in made["steps"]]


def test_without_a_finding_it_is_the_beginning() -> None:
    made = _played(scenes.plain(400))
    assert _numbers(made)[0] == 1
    assert len(made["steps"]) == BEFORE + AFTER
    assert not any(step["faults"] for step in made["steps"])


def test_with_one_it_leads_there_and_goes_on() -> None:
    made = _played(scenes.plain(400, clears=False))
    faulty = [step["faults"][0]["rule"] for step in made["steps"] if step["faults"]]
    assert set(faulty) == {"GL101"}
    first = next(number for number, step in enumerate(made["steps"]) if step["faults"])
    assert first < BEFORE
    assert len(made["steps"]) <= BEFORE + AFTER
    before, after = made["steps"][first - 1], made["steps"][first]
    assert any(held["is_spent"] for cell in before["cells"] for held in cell["holds"])
    assert after["line"] in range(made["first"], made["first"] + len(made["code"]))


def test_parameters_with_one_history_have_one_row() -> None:
    made = _played(scenes.many_layers(30))
    names = {name for step in made["steps"] for cell in step["cells"] for name in cell["names"]}
    assert 1 <= len(names) <= MOST_ROWS
    assert any(name.endswith(" more") for name in names)


def test_optimizers_have_the_names_that_the_program_gave_them() -> None:
    made = _played(scenes.leak(20))
    lanes = {lane["name"] for lane in made["lanes"]}
    shown = {cell["lane"] for step in made["steps"] for cell in step["cells"]}
    assert shown <= lanes | {""}
    assert any(step["faults"] for step in made["steps"])


@pytest.mark.slow
def test_it_plays_on_the_page_in_the_colours_of_the_page(visit: Visit) -> None:
    page = visit("leak", theme="dark")
    player = page.locator("ledger-player[data-ready]")
    expect(player.locator(".lp-fault")).to_contain_text("GL102")  # it opens at the fault
    player.press("Home")
    expect(player.locator(".lp-fault")).to_be_hidden()
    player.get_by_label("Next faulty step").click()
    expect(player.locator(".lp-fault")).to_contain_text("GL102")
    here = player.locator(".lp-count").inner_text()
    player.press("ArrowLeft")
    expect(player.locator(".lp-count")).not_to_have_text(here)
    assert visit.said == []


@pytest.mark.slow
def test_without_a_script_there_is_no_player(visit: Visit) -> None:
    page = visit("leak", scripted=False)
    expect(page.locator("#play")).to_be_hidden()
