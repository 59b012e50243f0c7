"""The site in a real Chromium: search, dark and light, wide and narrow, and no outside request."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.website.conftest import Visitor

pytestmark = pytest.mark.slow

FITS = "() => document.documentElement.scrollWidth <= window.innerWidth"
PAGES = (
    "index.html",
    "start.html",
    "reference/checker.html",
    "reference/rules/GL101.html",
    "why/index.html",
    "learn/cheat-sheet.html",
    "learn/several.html",
)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_in_silence_and_fits_a_phone(visitor: Visitor, path: str) -> None:
    for width, theme in ((1280, "light"), (360, "dark")):
        page = visitor(path, width=width, theme=theme)
        expect(page.locator("h1").first).to_be_visible()
        assert page.evaluate(FITS)
    assert visitor.said == []
    assert visitor.outside == []


def test_dark_is_dark_and_light_is_light(visitor: Visitor) -> None:
    def background(page: Page) -> int:
        colour: str = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(",")[:3])

    assert background(visitor("start.html", theme="light")) > 700
    assert background(visitor("start.html", theme="dark")) < 200


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_cheat_sheet_is_one_page_of_paper(visitor: Visitor, paper: str) -> None:
    printed = visitor("learn/cheat-sheet.html").pdf(format=paper)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("spent-gradient-reused", "reference/rules/GL101.html"),
        ("loss oscillates", "why/loss-oscillates.html"),
        ("training gets slower", "why/slower-each-step.html"),
        ("backward through the graph a second time", "why/backward-second-time.html"),
    ],
)
def test_search_finds(visitor: Visitor, words: str, path: str) -> None:
    page = visitor("index.html")
    page.locator(".md-search__input").fill(words)
    found = page.locator(f'.md-search-result a[href*="{path}"]').first
    expect(found).to_be_attached(timeout=60_000)  # the whole index is read first
    assert visitor.said == []
    assert visitor.outside == []
