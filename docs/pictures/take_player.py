"""Takes the pictures of the playground: `make pictures`, after `make site`.

The playground of the built site is opened in Chromium, in both themes, with its first example and
the player at the step that spends what was spent before.
"""

from __future__ import annotations

import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
SITE = HERE.parent.parent / "build" / "site"
SIZE = (1180, 1090)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


def main() -> int:
    """Takes both pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or not (SITE / "assets" / "playground").exists():
        print("For pictures of the playground, install chromium and npm, and run `make site`.")
        return 1
    handler = partial(_Silent, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        address = f"http://127.0.0.1:{server.server_address[1]}/playground.html"
        for theme, name in (("light", "playground.png"), ("dark", "playground-dark.png")):
            take(browser, address, dark=theme == "dark", into=HERE / name)
        browser.close()
        server.shutdown()
    return 0


def take(browser: Browser, address: str, *, dark: bool, into: Path) -> None:
    """From the editor down to the player."""
    width, height = SIZE
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page.set_default_timeout(120_000)
    page.goto(address)
    page.wait_for_selector("#pg .pg-fix")
    pick = page.get_by_label("Examples")
    pick.select_option(index=2)  # once more: the first check also loads a part of the checker
    page.wait_for_selector("#pg .pg-verdict-good")
    pick.select_option(index=1)
    page.wait_for_selector("#pg .pg-fix")
    page.get_by_label("Next faulty step").click()
    page.mouse.move(0, 0)
    page.evaluate("() => document.querySelector('.md-header').remove()")
    page.evaluate("() => document.querySelector('.md-tabs')?.remove()")
    top = page.locator("#pg").bounding_box()
    bottom = page.locator("ledger-player").bounding_box()
    assert top is not None
    assert bottom is not None
    room = 12
    clip = {
        "x": max(0.0, top["x"] - room),
        "y": max(0.0, top["y"] - room),
        "width": top["width"] + 2 * room,
        "height": bottom["y"] + bottom["height"] - top["y"] + 2 * room,
    }
    page.screenshot(path=into, clip=clip, full_page=True)  # type: ignore[arg-type]
    page.close()


if __name__ == "__main__":
    sys.exit(main())
