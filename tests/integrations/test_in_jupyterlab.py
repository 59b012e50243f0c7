"""A notebook in the real JupyterLab and the real Notebook, in Chromium: the verdict is seen."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.integrations.cells import MAKE, TRAIN, written

pytestmark = pytest.mark.slow  # a server, a kernel and a browser
LONG = 80_000
APPLICATIONS = {"lab": "lab/tree", "notebook": "notebooks"}
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(27, 31, 35)"}
CELLS = "%load_ext gradledger", MAKE, f"%%gradledger\n{TRAIN}", "%gradledger check"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with some notebooks, on this machine only."""
    folder = tmp_path_factory.mktemp("notebooks")
    for name in APPLICATIONS:  # a kernel for each
        written(folder / f"{name}.ipynb", *CELLS)
    options = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        "--port=0",
        "--IdentityProvider.token=test",
        f"--ServerApp.root_dir={folder}",
    ]
    home = {name: str(folder / "home") for name in ("HOME", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    command = [sys.executable, "-m", "jupyterlab", *options]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **home}
    ) as process:
        assert process.stderr is not None
        address = ""
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                address = found[0]
                break
        # What it says from here on must not fill the pipe.
        rest = threading.Thread(target=process.stderr.read, daemon=True)
        rest.start()
        try:
            yield address
        finally:
            process.terminate()
            process.wait(60)
            rest.join(60)


# Takes long: the application and its kernel, which loads torch, start for each.
@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_verdict_stands_under_the_cell(
    name: str, server: str, browser: Browser, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1500})
    asked: list[str] = []
    page = context.new_page()
    page.set_default_timeout(LONG)
    page.on("request", lambda request: asked.append(request.url))
    path = f"{APPLICATIONS[name]}/{name}.ipynb"
    page.goto(f"{server}/{path}?token=test&reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.locator(".jp-KernelName, .jp-Toolbar-kernelName", has_text="ipykernel").first.wait_for()
    _run_all(page)
    verdict = page.locator(".gradledger").first
    verdict.wait_for()
    page.locator(".gradledger").nth(1).wait_for()
    assert "The books do not balance: 1 error" in verdict.inner_text()
    assert "cell 3, line 5" in verdict.inner_text()
    box = verdict.locator("svg").first.bounding_box()
    assert box is not None
    assert box["width"] > 100
    pictures = os.environ.get("GRADLEDGER_PICTURES", str(tmp_path))
    for theme, expected in PAPER.items():
        page.evaluate(f"document.body.dataset.jpThemeLight = '{str(theme == 'light').lower()}'")
        paper = verdict.evaluate("element => getComputedStyle(element).backgroundColor")
        assert paper == expected
        page.screenshot(path=f"{pictures}/{name}-{theme}.png")
    assert all(url.startswith((server, "data:", "blob:", "ws:")) for url in asked)
    context.close()


def _run_all(page: Page) -> None:
    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^Run$")).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Run All Cells$")).click()
    # Where the kernel is not connected yet, it asks which one to use.
    page.locator(".gradledger, .jp-Dialog .jp-mod-accept").first.wait_for()
    if (accept := page.locator(".jp-Dialog .jp-mod-accept")).is_visible():
        accept.click()
