"""The ledger player in a lesson, in a real Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.website.conftest import Visitor
from website.directives import player

FITS = "() => document.documentElement.scrollWidth <= window.innerWidth"


@pytest.mark.slow
def test_it_plays_line_by_line_and_by_iteration_and_marks_the_fault(visitor: Visitor) -> None:
    page = visitor("learn/forgotten.html")
    shown = page.locator("ledger-player[data-ready]").first
    expect(shown.locator(".lp-now")).to_contain_text("iteration 1: line 12 deposits")
    shown.get_by_label("Next line").click()
    expect(shown.locator(".lp-now")).to_contain_text("line 13 spends 1 deposit")
    expect(shown.locator(".lp-fault")).to_be_hidden()
    shown.get_by_label("Next iteration").click()
    expect(shown.locator(".lp-now")).to_contain_text("iteration 2: line 12")
    shown.get_by_label("Next faulty step").click()
    expect(shown.locator(".lp-fault")).to_contain_text("GL101 spent-gradient-reused")
    expect(shown.locator(".lp-line.lp-bad")).to_contain_text("optimizer.step()")
    expect(shown.locator(".lp-column.lp-now-column.lp-faulty")).to_have_count(1)
    shown.press("ArrowLeft")
    expect(shown.locator(".lp-fault")).to_be_hidden()
    assert visitor.said == []
    assert visitor.outside == []


@pytest.mark.slow
def test_optimizers_are_lanes_and_it_fits_a_phone(visitor: Visitor) -> None:
    page = visitor("learn/several.html", width=360, theme="dark")
    page.locator("details summary").first.click()
    shown = page.locator("ledger-player[data-ready]").first
    expect(shown.locator(".lp-lane h4")).to_have_text(["opt_g line 6", "opt_d line 7"])
    assert page.evaluate(FITS)


def test_code_cannot_end_the_script_that_carries_it() -> None:
    assert player("several_exercise.py").count("</script>") == 1
