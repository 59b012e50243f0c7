"""The extension in a real VS Code, which `make test-vscode` installs: it weighs 800 MB."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, expect

from gradledger.cli.server import INSTALL
from tests.integrations.cells import MAKE, executed
from tests.integrations.cells import TRAIN as LOOP
from tests.server.vscode import LONG, ROOT, SERVER, Workbench, interpreter_for, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not SERVER.exists(), reason="VS Code is not here: make test-vscode installs it"
    ),
]

TRAIN = """\
import torch

torch.manual_seed(0)
data = [(torch.randn(4, 2), torch.randn(4, 1)) for _ in range(3)]
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data:
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
CURED = TRAIN.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")


@pytest.fixture(scope="module")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, packaged as editors/README.md says."""
    extension = ROOT / "editors" / "vscode"
    built = shutil.ignore_patterns("node_modules", "dist", "*.vsix")
    folder = tmp_path_factory.mktemp("extension") / "vscode"
    shutil.copytree(extension, folder, ignore=built)
    (folder / "node_modules").symlink_to(extension / "node_modules")
    subprocess.run(["npm", "run", "-s", "package"], cwd=folder, check=True)
    return folder / "gradledger.vsix"


def project(folder: Path, settings: dict[str, str]) -> Path:
    """A folder with the script, and with settings of VS Code."""
    work = folder / "work"
    (work / ".vscode").mkdir(parents=True)
    (work / ".vscode" / "settings.json").write_text(json.dumps(settings))
    (work / "train.py").write_text(TRAIN)
    return work


def test_vs_code_says_what_to_install_where_there_is_no_gradledger(
    vsix: Path, browser: Browser, tmp_path: Path
) -> None:
    work = project(tmp_path, {"gradledger.interpreter": "/nowhere/python"})
    with serving(vsix, tmp_path / "home", work) as address:
        bench = Workbench(browser, address)
        bench.open("train.py")
        said = bench.page.locator(".notification-list-item", has_text=INSTALL)
        said.first.wait_for()
        bench.picture("vscode-missing", tmp_path)
        bench.page.close()


# A kernel, a server and a browser.
def test_vs_code_shows_findings_in_cells_and_verdicts_under_them(
    vsix: Path, browser: Browser, tmp_path: Path
) -> None:
    work = project(tmp_path, {"workbench.colorTheme": "Default Dark Modern"})
    interpreter_for(work)
    cells = "%load_ext gradledger", MAKE, f"%%gradledger\n{LOOP}", "%gradledger check"
    nbformat.write(executed(*cells), work / "train.ipynb")  # type: ignore[no-untyped-call]
    with serving(vsix, tmp_path / "home", work) as address:
        bench = Workbench(browser, address)
        bench.open("train.ipynb")
        bench.squiggle().first.wait_for()
        verdict = bench.webview().locator(".gradledger").first
        expect(verdict).to_contain_text("The books do not balance: 1 error", timeout=LONG)
        expect(verdict).to_contain_text("cell 3, line 5")
        expect(verdict).to_have_css("color-scheme", "dark")
        assert "GL101" in bench.pointed_at()
        bench.picture("vscode-notebook", tmp_path)
        bench.page.close()


# A server, a browser, two audits that load torch: some thirty seconds.
def test_vs_code_shows_the_finding_makes_the_fix_and_audits(
    vsix: Path, browser: Browser, tmp_path: Path
) -> None:
    work = project(tmp_path, {"workbench.colorTheme": "Default Dark Modern"})
    interpreter_for(work)
    with serving(vsix, tmp_path / "home", work) as address:
        bench = Workbench(browser, address)
        bench.open("train.py")
        bench.squiggle().first.wait_for()
        said = bench.pointed_at()
        assert "GL101" in said
        assert "optimizer.zero_grad()" in said
        bench.picture("vscode-finding", tmp_path)

        bench.command("gradledger: Audit this file")
        report = bench.webview()
        expect(report.locator("body")).to_contain_text("do not balance", timeout=LONG)
        expect(report.locator("body")).to_contain_text("1 error in train.py")
        expect(report.locator("body")).to_contain_text("spent-gradient-reused")
        expect(report.locator("canvas, svg").first).to_be_visible()
        expect(report.locator("html")).to_have_css("color-scheme", "dark")
        bench.picture("vscode-report", tmp_path)

        bench.command("View: Focus First Editor Group")
        bench.quick_fix("Fix GL101 spent-gradient-reused")
        expect(bench.squiggle()).to_have_count(0, timeout=LONG)
        bench.page.keyboard.press("Control+S")
        bench.command("gradledger: Audit this file")
        expect(report.locator("body")).to_contain_text("books balance", timeout=LONG)
        expect(bench.tabs("Audit of train.py")).to_have_count(1)
        bench.picture("vscode-cured", tmp_path)
        bench.page.close()
    assert (work / "train.py").read_text() == CURED
