from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page

from tests.report.page import scenes


@cache
def html(scene: str) -> str:
    return scenes.page_of(*scenes.ALL[scene]())


class Visit:
    """Opens pages of scenes, and knows all that they said and asked for."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser = browser
        self._folder = folder
        self._contexts: list[BrowserContext] = []
        self.said: list[str] = []
        self.asked: list[str] = []
        self.dialogs: list[str] = []

    def __call__(
        self,
        scene: str,
        *,
        width: int = 1280,
        theme: str = "light",
        scripted: bool = True,
        text: str | None = None,
    ) -> Page:
        path = self._folder / f"{scene}.html"
        path.write_text(html(scene) if text is None else text, encoding="utf-8")
        context = self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            java_script_enabled=scripted,
            reduced_motion="reduce",
        )
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("dialog", self._dialog)
        page.goto(path.as_uri())
        if scripted:
            page.wait_for_selector("html[data-ready]", state="attached")
            if page.locator("#timeline-chart").count():
                page.wait_for_selector("html[data-drawn]", state="attached")
        return page

    def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Visit]:
    """Whatever a test does on a page, the page stays silent and asks for nothing but itself."""
    visit = Visit(browser, tmp_path)
    yield visit
    visit.close()
    assert visit.said == []
    assert all(url.startswith(f"file://{tmp_path}") for url in visit.asked)
    assert visit.dialogs == []
