"""The playground in a real Chromium, with Python in it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.website.conftest import Visitor
from website.layout import ROOT, SITE
from website.playground.examples import examples

pytestmark = pytest.mark.slow

FIRST, RIGHT, *_ = examples()
FITS = "() => document.documentElement.scrollWidth <= window.innerWidth"
PASTE = """text => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(paste);
}"""


@pytest.fixture(scope="module")
def opened(browser: Browser, address: str) -> Iterator[tuple[Visitor, Page]]:
    """The page with Python loaded: that takes seconds, so most tests share it."""
    expect.set_options(timeout=60_000)  # Python takes seconds to load, and more beside other tests
    if not (SITE / "assets" / "playground").exists():
        pytest.skip("the site was built without the playground: npm is missing")
    visitor = Visitor(browser, address)
    page = visitor("playground.html", width=1280)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.wait_for_selector("#pg[data-ready]")
    yield visitor, page
    visitor.leave()
    expect.set_options(timeout=5_000)


@pytest.fixture
def playground(opened: tuple[Visitor, Page]) -> Iterator[Page]:
    """With the first example in it; afterwards nothing was complained of, or asked for outside."""
    visitor, page = opened
    page.get_by_label("Examples").select_option(RIGHT.name)
    page.get_by_label("Examples").select_option(FIRST.name)
    expect(page.locator(".pg-verdict")).to_contain_text("1 finding")
    yield page
    assert visitor.said == []
    assert visitor.outside == []


def _paste_over(page: Page, text: str) -> None:
    page.get_by_label("Python code").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.evaluate(PASTE, text)


def test_it_finds_the_planted_fault_and_applies_the_fix(playground: Page) -> None:
    card = playground.locator(".pg-card")
    expect(card).to_contain_text("GL101 spent-gradient-reused")
    expect(card).to_contain_text("iterations 5 to 7")
    expect(playground.locator(".cm-lint-marker-error")).to_have_count(1)
    expect(card.get_by_role("link", name="GL101")).to_have_attribute(
        "href", "reference/rules/GL101.html"
    )
    card.get_by_role("button", name="Apply the fix").click()
    expect(playground.locator(".pg-verdict")).to_contain_text("No fault found")
    expect(playground.get_by_label("Python code")).to_contain_text("optimizer.zero_grad()")
    expect(playground.locator(".pg-card")).to_have_count(0)


def test_the_player_plays_what_is_in_the_editor(playground: Page) -> None:
    player = playground.locator("ledger-player[data-ready]")
    player.get_by_label("Next faulty step").click()
    expect(player.locator(".lp-now")).to_contain_text("spends 4 deposits, and 4 spent before")
    expect(playground.locator(".pg-played-bad")).to_contain_text("optimizer.step()")
    player.press("Home")
    expect(player.locator(".lp-count")).to_have_text("1 of 20")
    player.press("PageDown")
    expect(player.locator(".lp-now")).to_contain_text("iteration 2: line 16 deposits")
    player.get_by_label("Play", exact=True).click()
    expect(player.locator(".lp-now")).to_contain_text("iteration 3")
    player.get_by_label("Pause").click()
    box = player.locator(".lp-column").nth(4).bounding_box()
    assert box is not None
    playground.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(player.locator(".lp-now")).to_contain_text("line 18 spends 4 deposits")
    playground.locator("#pg .pg-pick").first.select_option(RIGHT.name)
    expect(player.get_by_label("Next faulty step")).to_have_count(0)


def test_the_last_good_result_stays_while_the_text_is_no_python(playground: Page) -> None:
    _paste_over(playground, f"{FIRST.text}\nfor x in:\n")
    expect(playground.locator(".pg-verdict")).to_contain_text("Line 20")
    expect(playground.locator(".pg-verdict")).to_contain_text("Shown is what was found before")
    expect(playground.locator(".pg-card")).to_contain_text("GL101")
    _paste_over(playground, "print('nothing that trains')\n")
    expect(playground.locator(".pg-verdict")).to_contain_text("nothing to follow")
    expect(playground.locator(".pg-stage")).to_be_hidden()


def test_two_hundred_kilobytes_are_checked_and_typing_goes_on(playground: Page) -> None:
    filler = "".join(f"# {n}: some words that fill the line\n" for n in range(5300))
    text = f"{filler}{FIRST.text}"
    assert len(text) > 200_000
    _paste_over(playground, text)
    playground.keyboard.type("\n# typed meanwhile")
    expect(playground.get_by_label("Python code")).to_contain_text("# typed meanwhile")
    expect(playground.locator("#pg")).to_have_attribute("data-state", "settled")
    expect(playground.locator(".pg-verdict")).to_contain_text("1 finding")


def test_a_link_carries_the_code(opened: tuple[Visitor, Page], playground: Page) -> None:
    visitor, _ = opened
    text = FIRST.text.replace("ACCUMULATE", "Größe")
    _paste_over(playground, text)
    playground.get_by_role("button", name="Copy link").click()
    expect(playground.locator(".pg-told")).to_contain_text("nothing was sent")
    link = playground.evaluate("() => navigator.clipboard.readText()")
    assert link == playground.url
    assert "#code=" in link
    other = visitor(link.removeprefix(f"{visitor.address}/"))
    shown = other.get_by_label("Python code")
    expect(shown).to_contain_text("Größe = 4")
    expect(other.locator(".pg-card")).to_contain_text("GL101")
    other.evaluate("() => { location.hash = '#code=%%%' }")
    expect(shown).to_contain_text("ACCUMULATE = 4")
    assert all("#" not in url and "code=" not in url.partition("#")[0] for url in visitor.asked[1:])
    other.context.close()


def test_pages_open_it_with_their_program(opened: tuple[Visitor, Page]) -> None:
    visitor, _ = opened
    for path, name in (
        ("learn/forgotten.html", "forgotten.py"),
        ("reference/rules/GL201.html", "GL201-bad"),
    ):
        page = visitor(path)
        page.get_by_role("link", name="Try it in the playground").first.click()
        expect(page.get_by_label("Examples")).to_have_value(name)
        page.context.close()


def test_it_fits_a_phone(opened: tuple[Visitor, Page]) -> None:
    visitor, _ = opened
    page = visitor("playground.html", width=360, theme="dark")
    expect(page.locator("ledger-player[data-ready]")).to_be_visible()
    assert page.evaluate(FITS)
    page.context.close()


def test_the_types_of_its_script_fit_together() -> None:
    compiler = ROOT / "web" / "node_modules" / "typescript" / "bin" / "tsc"
    modules = ROOT / "website" / "playground" / "node_modules"
    if not (compiler.exists() and modules.exists()):
        pytest.skip("npm has not brought TypeScript and CodeMirror")
    project = ROOT / "website" / "playground" / "tsconfig.json"
    done = subprocess.run(["node", compiler, "-p", project], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_its_licences_are_on_the_site(opened: tuple[Visitor, Page]) -> None:
    text = (SITE / "assets" / "playground" / "THIRD_PARTY.txt").read_text(encoding="utf-8")
    for name in ("Pyodide", "Mozilla Public License", "@codemirror/view", "@lezer/python"):
        assert name in text
