"""The site as `make site` built it, served to a real browser."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from website.layout import SITE


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    if not (SITE / "index.html").exists():
        why = "there is no build/site: `make site` builds it (make test-slow does that)"
        if os.environ.get("GRADLEDGER_BROWSER") == "required":
            pytest.fail(why)
        pytest.skip(why)
    return SITE


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


class Visitor:
    """Opens pages of the site, and knows all that they said and asked for."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser = browser
        self.address = address
        self._contexts: list[BrowserContext] = []
        self.said: list[str] = []
        self.asked: list[str] = []

    def __call__(self, path: str, *, width: int = 1280, theme: str = "light") -> Page:
        context = self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",
        )
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(f"{self.address}/{path}")
        return page

    @property
    def outside(self) -> list[str]:
        """What was asked for that is not the site's own."""
        own = (self.address, "data:", "blob:")
        return [url for url in self.asked if not url.startswith(own)]

    def leave(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def visitor(browser: Browser, address: str) -> Iterator[Visitor]:
    """Closes what it opened."""
    visitor = Visitor(browser, address)
    yield visitor
    visitor.leave()
