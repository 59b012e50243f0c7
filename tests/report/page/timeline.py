"""The timeline of a page in a browser, for tests that use it."""

from __future__ import annotations

from playwright.sync_api import Page

CHART = "#timeline-chart"


class Timeline:
    """The timeline of a page, as far as it tells about itself."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.box = page.locator(CHART)
        self.box.scroll_into_view_if_needed()

    def said(self, name: str) -> str:
        return self.box.get_attribute(f"data-{name}") or ""

    @property
    def shown(self) -> tuple[float, float]:
        return float(self.said("from")), float(self.said("to"))

    @property
    def span(self) -> float:
        first, last = self.shown
        return last - first

    def at(self, turn: float, *, row: int = 0) -> tuple[float, float]:
        """Where on the screen a turn of a lane is."""
        left, right = map(float, self.said("plot").split())
        first, last = self.shown
        box = self.box.bounding_box()
        assert box is not None
        x = left + (turn - first) / (last - first) * (right - left)
        return box["x"] + x, box["y"] + 26 + 52 * (row + 0.5)

    def settle(self, before: tuple[float, float]) -> None:
        """Wait until other turns are shown."""
        self.page.wait_for_function(
            "([selector, from, to]) => { const d = document.querySelector(selector).dataset;"
            " return Number(d.from) !== from || Number(d.to) !== to }",
            arg=[CHART, *before],
        )

    def press(self, key: str) -> None:
        before = self.shown
        self.box.press(key)
        self.settle(before)
