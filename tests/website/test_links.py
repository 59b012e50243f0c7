"""Every link of the built site leads somewhere, and no page loads anything from elsewhere."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.slow

LOADS = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}
"""What a browser asks for by itself. (A canonical address or the next page is not loaded.)"""


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        for name in ("href", "src"):
            if name in given:
                self.links.append(given[name])
                if (tag, name) in LOADS:
                    self.loaded.append(given[name])


@cache
def _parsed(path: Path) -> _Page:
    return _Page(path.read_text(encoding="utf-8"))


def _pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_link_inside_the_site_leads_to_a_page_and_a_place_on_it(site: Path) -> None:
    broken = []
    for page in _pages(site):
        if page.name == "404.html":  # shown at any address, so that its links are from the root
            continue
        for link in _parsed(page).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if target.is_dir():
                target /= "index.html"
            there = target.exists()
            if there and parts.fragment and target.suffix == ".html":
                fragment = unquote(parts.fragment)
                # What begins with code= is for the playground to read.
                there = fragment in _parsed(target).ids or fragment.startswith(("code=", "try="))
            if not there:
                broken.append(f"{page.relative_to(site)}: {link}")
    assert not broken


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in _pages(site):
        for link in _parsed(page).loaded:
            assert not urlsplit(link).netloc, f"{page.relative_to(site)} loads {link}"


def test_there_is_a_page_for_all_that_has_one(site: Path) -> None:
    names = {path.relative_to(site).as_posix() for path in _pages(site)}
    assert len(names) > 80
    wanted = {"index.html", "start.html", "reference/commands.html", "reference/rules/GL101.html"}
    wanted |= {"reference/api/stepper.html", "reference/benchmarks.html", "reference/checker.html"}
    assert wanted <= names
