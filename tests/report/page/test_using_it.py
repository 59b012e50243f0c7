"""All that a person does with the page, in a real Chromium."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.report.page import scenes
from tests.report.page.conftest import Visit, html
from tests.report.page.timeline import CHART, Timeline

pytestmark = pytest.mark.slow


def test_nothing_can_be_fetched_from_it(visit: Visit) -> None:
    page = visit("good")
    answer = page.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')")
    assert answer == "refused"
    assert [said for said in visit.said if "Content Security Policy" not in said] == []
    visit.said.clear()


# The timeline


def test_the_wheel_zooms_round_the_pointer_and_out_again(visit: Visit) -> None:
    timeline = Timeline(visit("good"))
    whole = timeline.shown
    timeline.page.mouse.move(*timeline.at(150))
    for _ in range(8):
        before = timeline.shown
        timeline.page.mouse.wheel(0, -100)
        timeline.settle(before)
    first, last = timeline.shown
    assert timeline.span < 110
    assert first < 150 < last
    for _ in range(8):
        before = timeline.shown
        timeline.page.mouse.wheel(0, 100)
        timeline.settle(before)
    assert timeline.shown == pytest.approx(whole, abs=1)


def test_the_wheel_scrolls_the_page_where_there_is_nothing_more_to_zoom_out(visit: Visit) -> None:
    timeline = Timeline(visit("good"))
    timeline.page.mouse.move(*timeline.at(300))
    before = timeline.page.evaluate("scrollY")
    timeline.page.mouse.wheel(0, 200)
    timeline.page.wait_for_function("before => scrollY > before", arg=before)


def test_dragging_pans(visit: Visit) -> None:
    timeline = Timeline(visit("good"))
    for _ in range(3):
        timeline.press("+")
    before, span = timeline.shown, timeline.span
    timeline.page.mouse.move(*timeline.at(before[0] + span * 0.7))
    timeline.page.mouse.down()
    timeline.page.mouse.move(*timeline.at(before[0] + span * 0.3), steps=5)
    timeline.page.mouse.up()
    timeline.settle(before)
    assert timeline.shown[0] == pytest.approx(before[0] + span * 0.4, abs=span * 0.05)
    assert timeline.span == pytest.approx(span, rel=0.001)


def test_the_strip_below_it_moves_it(visit: Visit) -> None:
    timeline = Timeline(visit("good"))
    timeline.press("+")
    timeline.press("+")
    before = timeline.shown
    x, _ = timeline.at(0.5 * sum(before))
    box = timeline.box.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] - 12 - 20
    timeline.page.mouse.move(x, middle)
    timeline.page.mouse.down()
    timeline.page.mouse.move(x + 120, middle, steps=5)
    timeline.page.mouse.up()
    timeline.settle(before)
    assert timeline.shown[0] > before[0] + 10


def test_keys_zoom_pan_and_go_to_both_ends(visit: Visit) -> None:
    timeline = Timeline(visit("good"))
    timeline.press("+")
    timeline.press("+")
    assert timeline.span == pytest.approx(601 / 4)
    middle = timeline.shown
    timeline.press("ArrowRight")
    assert timeline.shown[0] == pytest.approx(middle[0] + 601 / 20)
    timeline.press("ArrowLeft")
    assert timeline.shown == pytest.approx(middle)
    timeline.press("Home")
    assert timeline.shown == pytest.approx((0, 601 / 4))
    timeline.press("End")
    assert timeline.shown == pytest.approx((601 * 3 / 4, 601))
    timeline.press("0")
    assert timeline.shown == pytest.approx((0, 601))
    timeline.press("+")
    assert timeline.span == pytest.approx(601 / 2)
    timeline.press("-")
    assert timeline.span == pytest.approx(601)


def test_it_goes_from_all_steps_down_to_one(visit: Visit) -> None:
    timeline = Timeline(visit("good"))
    levels = [timeline.said("level")]
    for _ in range(10):
        if timeline.span <= 1:
            break
        timeline.press("+")
        levels.append(timeline.said("level"))
    assert timeline.span <= 1
    assert list(dict.fromkeys(levels)) == ["density", "windows", "marks"]


def test_what_is_spent_again_is_told_apart(visit: Visit) -> None:
    timeline = Timeline(visit("uncleared"))
    for _ in range(3):
        timeline.box.press(".")
    told = timeline.page.locator("#turn-told")
    expect(told.locator(".new")).to_contain_text("1 new deposit in 6 parameters")
    expect(told.locator(".again")).to_contain_text("2 spent again in 6 parameters")


@pytest.mark.parametrize("step", [11, 21])
def test_weights_of_a_window_are_told_in_order(visit: Visit, step: int) -> None:
    timeline = Timeline(visit("accumulation"))
    for _ in range(step):
        timeline.box.press(".")
    told = timeline.page.locator("#turn-told .told-weight")
    expect(told).to_have_text("mean of 8 items; mean of 3 items; 4 \u00d7 mean of 8 items")


def test_the_finding_in_the_summary_leads_to_its_code(visit: Visit) -> None:
    page = visit("leak")
    page.get_by_role("link", name="This step also spends").click()
    expect(page.locator("#finding-1 .here code").first).to_be_in_viewport()
    expect(page.locator("#finding-1 .here code").first).to_have_text(re.compile(r"opt_d\.step\(\)"))


@pytest.mark.parametrize("scene", ["long", "ranks", "accumulation"])
def test_however_far_it_is_zoomed_it_draws_no_more_than_two_thousand_shapes(
    visit: Visit, scene: str
) -> None:
    timeline = Timeline(visit(scene))
    drawn = [int(timeline.said("shapes"))]
    while timeline.span > 2:
        before = timeline.shown
        timeline.box.press("+")
        timeline.settle(before)
        drawn.append(int(timeline.said("shapes")))
    assert min(drawn) > 0
    assert max(drawn) <= 2000


def test_ten_thousand_steps_are_small_and_soon_there(visit: Visit) -> None:
    assert len(html("long").encode()) < 2_000_000
    asked = "performance.getEntriesByName('gradledger-ready')[0].startTime"
    # The best of three: what else the machine does is not the page's fault.
    pages = [visit("long") for _ in range(3)]
    assert min(page.evaluate(asked) for page in pages) < 2000
    page = pages[0]
    expect(page.locator("#timeline-range")).to_have_text("all 10,000 steps")


# Findings


def test_chips_filter_by_severity(visit: Visit) -> None:
    page = visit("several")
    expect(page.locator(".finding:visible")).to_have_count(3)
    page.get_by_role("button", name="error").click()
    expect(page.locator(".finding:visible")).to_have_count(1)
    expect(page.locator(".finding:visible .level")).to_have_text("warning")
    expect(page.locator("#findings-shown")).to_have_text("1 of 3 findings shown")
    page.get_by_role("button", name="error").click()
    expect(page.locator(".finding:visible")).to_have_count(3)


def test_the_search_looks_at_all_that_a_finding_says(visit: Visit) -> None:
    page = visit("several")
    search = page.get_by_role("searchbox")
    for text, rules in {
        "GL203": ["GL203"],
        "unscale_": ["GL401"],
        "GL40 amp.py": ["GL401"],
        "nothing says this": [],
        "": ["GL401", "GL101", "GL203"],
    }.items():
        search.fill(text)
        shown = page.locator(".finding:visible .rule-link").all_inner_texts()
        assert [one.split()[0] for one in shown] == rules


def test_a_link_opens_the_rules_text(visit: Visit) -> None:
    page = visit("leak")
    text = page.locator("#rule-GL102")
    expect(text).to_be_hidden()
    page.get_by_role("link", name="Read about GL102").click()
    expect(text).to_be_visible()
    expect(text).to_contain_text("A deposit is spent at most once.")
    expect(text).to_contain_text("Use instead")


def test_a_cure_is_shown_as_a_diff(visit: Visit) -> None:
    chronicle = scenes.leak()
    (finding,) = chronicle.verdict.findings
    diff = (
        "--- gan.py\n+++ gan.py\n@@ -6,2 +6,3 @@\n     opt_g.step()\n+    opt_d.zero_grad()\n"
        "-    d_loss\n"
    )
    text = scenes.page_of(chronicle, cures={(finding.rule, finding.at): diff})
    page = visit("cured", text=text)
    patch = page.locator("#finding-1 .patch")
    expect(patch.locator("summary")).to_have_text("The cure")
    expect(patch.locator(".added code")).to_be_visible()
    expect(patch.locator(".added code")).to_have_text("    opt_d.zero_grad()")
    expect(patch.locator(".gone code")).to_have_text("    d_loss")


# Everybody


def test_the_switch_changes_the_theme_and_the_page_remembers(visit: Visit) -> None:
    page = visit("leak")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", dark))) < 150 < sum(map(int, re.findall(r"\d+", light)))
    expect(page.locator("#theme")).to_have_attribute("aria-pressed", "true")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_it_follows_the_systems_theme(visit: Visit) -> None:
    page = visit("leak", theme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", dark))) < 150


@pytest.mark.parametrize("scene", ["leak", "hostile", "ranks", "layers"])
def test_a_phone_does_not_scroll_sideways(visit: Visit, scene: str) -> None:
    page = visit(scene, width=360)
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_without_script_the_verdict_and_the_findings_are_there(visit: Visit) -> None:
    page = visit("leak", scripted=False)
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("#finding-1 .here").first).to_be_visible()
    expect(page.locator("#finding-1 .remarks")).to_contain_text("Clear this optimizer's gradients")
    assert page.locator(".needs-script:visible").count() == 0
    page.locator("#flow summary").click()
    expect(page.locator("#flow table")).to_be_visible()


def test_every_chart_has_a_name_and_its_numbers_in_a_table(visit: Visit) -> None:
    page = visit("ranks")
    charts = page.locator(".chart").all()
    assert len(charts) == 10
    for chart in charts:
        assert chart.get_attribute("aria-label")
        assert chart.locator("xpath=ancestor::section//table").count() > 0


def test_the_first_tab_skips_to_the_verdict_and_all_controls_can_be_reached(visit: Visit) -> None:
    page = visit("leak")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    wanted = {"theme", "zoom-in", "finding-next", "timeline-chart", "search", "chip error"}
    assert wanted <= reached


def test_it_prints_on_white_paper_without_its_controls(visit: Visit) -> None:
    page = visit("leak", theme="dark")
    assert page.pdf(format="A4", print_background=True).startswith(b"%PDF")
    widths = "() => [...document.querySelectorAll('canvas')].map(canvas => canvas.clientWidth)"
    on_screen = page.evaluate(widths)
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert set(page.evaluate(widths)) == {660}
    assert page.locator("#norm-heat-0 .flat").count() == 1
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(widths) == on_screen
    page.emulate_media(media="print")
    assert page.locator("button:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"


def test_what_ranks_did_differently_is_marked(visit: Visit) -> None:
    page = visit("ranks")
    expect(page.locator("#ranks .differs").first).to_have_text("185 ≠")
    page.locator("#timeline summary").nth(1).click()
    expect(page.locator("#timeline")).to_contain_text("81 to 95")


@pytest.mark.parametrize("chart", ["loss-chart", "norm-chart", "norm-heat-0"])
def test_curves_and_heat_maps_follow_the_timeline(visit: Visit, chart: str) -> None:
    timeline = Timeline(visit("good"))
    drawn = f"document.querySelector('#{chart} canvas').toDataURL()"
    before = timeline.page.evaluate(drawn)
    timeline.press("+")
    timeline.page.wait_for_function(f"before => {drawn} !== before", arg=before)


def test_a_pin_says_how_often_the_fault_was_seen(visit: Visit) -> None:
    page = visit("leak")
    data = json.loads(page.locator("#data").text_content() or "")
    assert [finding["count"] > 1 for finding in data["findings"]] == [True]


def test_many_ranks_are_all_drawn(visit: Visit) -> None:
    timeline = Timeline(visit("eight ranks"))
    assert 8 <= int(timeline.said("shapes")) <= 2000
    for _ in range(4):
        timeline.press("+")
        assert int(timeline.said("shapes")) <= 2000
    timeline.page.mouse.move(*timeline.at(sum(timeline.shown) / 2, row=7))
    expect(timeline.page.locator(f"{CHART} .told")).to_contain_text("optimizer")


def test_a_step_that_was_skipped_says_so(visit: Visit) -> None:
    timeline = Timeline(visit("amp"))
    timeline.box.press(".")
    expect(timeline.page.locator("#turn-told")).to_contain_text("Skipped step of optimizer")
    expect(timeline.page.locator("#turn-told")).to_contain_text("It updated nothing")


def test_a_run_without_measures_says_so(visit: Visit) -> None:
    page = visit("empty")
    expect(page.locator("#measures")).to_contain_text("This recording has no measures.")
    assert page.locator("canvas").count() == 0
