"""One browser for all tests of a process: Playwright refuses a second."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The Chromium of the system; Playwright's own is never downloaded."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        why = "there is no chromium: `apt-get install chromium` (make test does that for root)"
        if os.environ.get("GRADLEDGER_BROWSER") == "required":
            pytest.fail(why)
        pytest.skip(why)
    from playwright.sync_api import sync_playwright  # few tests need it

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()
