"""How long the website's playground takes: `python -m benchmarks.playground`, after `make site`.

Each load is that of a new browser, with nothing kept from before: Python comes, is compiled and
started, the checker is imported, and the first verdict is there. Then a program of a hundred lines
is checked, as after a key. Both are also shown against their goals.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from playwright.sync_api import Page, sync_playwright

from gradledger.rules import CATALOGUE, programs
from website.layout import SITE

LOADS = 3
CHECKS = 5
GOAL_LOAD = 10.0
GOAL_CHECK = 1.0
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PASTE = """text => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(paste);
}"""


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def served() -> Iterator[str]:
    """The built site, on 127.0.0.1."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(SITE))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/playground.html"
        server.shutdown()


def hundred_lines() -> str:
    """The longest example of a rule that is not longer, filled up with comments."""
    texts = (programs.bad(rule).source for rule in CATALOGUE)
    lines = max((text.splitlines() for text in texts if text.count("\n") <= 100), key=len)
    return "\n".join([*lines, *(f"# {n}" for n in range(100 - len(lines)))]) + "\n"


def measured(address: str) -> tuple[list[float], list[float]]:
    """Seconds of each load, and of each check."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("There is no chromium to measure with: `apt-get install chromium`.")
    loads: list[float] = []
    checks: list[float] = []
    with sync_playwright() as playwright:
        for _ in range(LOADS):
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page()
            page.set_default_timeout(300_000)
            start = time.perf_counter()
            page.goto(address)
            page.wait_for_selector("#pg .pg-verdict-bad")
            loads.append(time.perf_counter() - start)
            checks += _checks(page)
            browser.close()
    return loads, checks


def _checks(page: Page) -> Iterator[float]:
    text = hundred_lines()
    for number in range(CHECKS):
        page.get_by_label("Python code").focus()
        page.keyboard.press("ControlOrMeta+a")
        start = time.perf_counter()
        page.evaluate(PASTE, f"{text}# {number}\n")
        page.wait_for_selector("#pg[data-state=waiting]", state="attached")
        page.wait_for_selector("#pg[data-state=settled]", state="attached")
        yield time.perf_counter() - start


def main() -> int:
    """Measures and prints."""
    if not (SITE / "assets" / "playground").exists():
        print("There is no playground in build/site: `make site` builds it, where npm is.")
        return 1
    with served() as address:
        loads, checks = measured(address)
    for what, times, goal in (
        ("cold, until the first verdict", loads, GOAL_LOAD),
        ("a check of 100 lines, from the key to the verdict", checks, GOAL_CHECK),
    ):
        middle = statistics.median(times)
        spread = f"{min(times):.2f} to {max(times):.2f}"
        print(f"{what:<50} {middle:6.2f} s ({spread})  x{middle / goal:.2f} of {goal:g} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
