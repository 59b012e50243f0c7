"""The page in a real Chromium: that it opens, draws, answers and does no harm."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.report.page import scenes
from tests.report.page.conftest import Visit
from tests.report.page.timeline import CHART, Timeline
from tests.tiers import slow_but

QUICK = {"leak", "ranks"}


@pytest.mark.parametrize("scene", slow_but(QUICK.__contains__, scenes.ALL))
def test_it_opens_in_silence_and_asks_for_nothing_but_itself(visit: Visit, scene: str) -> None:
    visit(scene)
    assert len(visit.asked) == 1
    assert visit.said == []


def test_the_verdict_comes_first(visit: Visit) -> None:
    expect(visit("good").locator("h1")).to_have_text("The books balance.")
    expect(visit("leak").locator("h1")).to_have_text("The books do not balance.")
    expect(visit("empty").locator("h1")).to_have_text("There was nothing to audit.")


def test_what_was_not_seen_stands_below_a_headline_that_does_not_speak_of_balance(
    visit: Visit,
) -> None:
    page = visit("not all seen")
    expect(page.locator("h1")).to_have_text("No fault found in what was seen.")
    expect(page.locator(".lead")).to_have_text("Not all that train.py did was seen.")
    expect(page.locator(".remark")).to_have_text(
        "Not seen: the weights of 14 windows (the loss is compiled); processes 4123, 4124 (not "
        "Python's </script><img src=x onerror=alert(1)>)."
    )
    for width in (1200, 320):
        page.set_viewport_size({"width": width, "height": 800})
        # Charts follow the window a moment later.
        fits = "width => document.documentElement.scrollWidth <= width"
        page.wait_for_function(fits, arg=width)


def test_hovering_over_a_spend_tells_the_deposits_it_used(visit: Visit) -> None:
    timeline = Timeline(visit("leak"))
    timeline.box.press("n")
    expect(timeline.page.locator("#timeline-range")).to_contain_text("turns 1 to 12")
    timeline.page.mouse.move(*timeline.at(1.9, row=1))
    told = timeline.page.locator(f"{CHART} .told")
    expect(told).to_contain_text("Step of opt_d")
    expect(told).to_contain_text("g_loss(discriminator(generator(noise()))).backward()")
    expect(told).to_contain_text("gan.py:5")
    expect(told).to_contain_text("d_loss(discriminator(real), discriminator(fake.detach()))")
    expect(told).to_contain_text("mean of 64 items")
    expect(told.locator(".again")).to_contain_text("meant for another optimizer")
    expect(told.locator(".again")).to_contain_text("g_loss")
    expect(told.locator(".new")).to_contain_text("d_loss")


def test_a_pin_leads_to_its_finding_and_the_finding_to_its_pin(visit: Visit) -> None:
    timeline = Timeline(visit("uncleared"))
    x, _ = timeline.at(2)
    box = timeline.box.bounding_box()
    assert box is not None
    timeline.page.mouse.click(x, box["y"] + 11)
    expect(timeline.page.locator("#finding-1")).to_be_focused()
    expect(timeline.page.locator("#finding-1 .frame").first).to_be_in_viewport()
    before = timeline.shown
    timeline.page.get_by_role("button", name="Show on the timeline").click()
    timeline.settle(before)
    first, last = timeline.shown
    assert first <= 1 < last
    assert timeline.span == 12
    expect(timeline.box).to_be_focused()
    timeline.box.press("Enter")
    expect(timeline.page.locator("#finding-1")).to_be_focused()


def test_hostile_names_do_nothing_and_are_shown_as_they_are(visit: Visit) -> None:
    page = visit("hostile")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    for part in ("#finding-1 .where >> nth=0", "#finding-1 .frame >> nth=0", ".facts", ".brief"):
        expect(page.locator(part)).to_contain_text(scenes.EVIL)
    for _ in range(3):
        page.locator(CHART).press(".")
    expect(page.locator("#turn-told")).to_contain_text(f"opt{scenes.EVIL}")
    timeline = Timeline(page)
    page.mouse.move(*timeline.at(2.97))
    expect(page.locator(f"{CHART} .told")).to_contain_text(scenes.EVIL)
    for details in page.locator("summary").all():
        details.click()
    for part in (
        "#flow-chart",
        "#loss-chart",
        "#rate-chart",
        "#norm-chart",
        "#norm-heat-0",
        "#ratio-heat-0",
    ):
        box = page.locator(part)
        box.scroll_into_view_if_needed()
        for x in range(60, 1000, 150):
            box.hover(position={"x": x, "y": 45})
    assert page.locator("img").count() == 0
