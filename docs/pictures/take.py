"""Takes the README's pictures of a report: `make pictures`.

A program of the rules' examples is run and audited, and the page of it is opened in Chromium, in
both themes, with the timeline where the finding is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from gradledger.rules import find, programs

HERE = Path(__file__).parent
RULE = "GL102"
SIZE = (1200, 1400)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main() -> int:
    """Runs the program, and takes both pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("there is no chromium to take pictures with: `apt-get install chromium`")
        return 1
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = audited(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for theme, name in (("light", "report.png"), ("dark", "report-dark.png")):
            take(browser, page, dark=theme == "dark", into=HERE / name)
        browser.close()
    return 0


def audited(folder: Path) -> Path:
    """The page of a program in which the generator's loss leaks into the discriminator."""
    program = programs.bad(find(RULE))
    (folder / "gan.py").write_text("\n".join([*program.lines, ""]), encoding="utf-8")
    command = [sys.executable, "-m", "gradledger", "run", "--html", "report.html", "gan.py"]
    # For nets of this size, several threads only wait for each other.
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environ)
    return folder / "report.html"


def take(browser: Browser, page: Path, *, dark: bool, into: Path) -> None:
    """The top of the page, down to the flow."""
    width, height = SIZE
    opened = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    opened.goto(page.as_uri())
    opened.wait_for_selector("html[data-drawn]", state="attached")
    opened.locator("#finding-next").click()
    opened.mouse.move(0, 0)
    opened.wait_for_function("() => document.querySelector('#timeline-chart').dataset.to == 12")
    # What it tells about a step would push the flow out of the picture.
    opened.evaluate(
        "() => { document.getElementById('turn-told').replaceChildren(); scroll(0, 0) }"
    )
    opened.screenshot(path=into)
    opened.close()


if __name__ == "__main__":
    sys.exit(main())
