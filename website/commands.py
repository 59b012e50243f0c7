"""The page of the commands: what each says with --help."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout

from gradledger.cli import COMMANDS, command, main

READ_ON = {
    "check": "[The checker](checker.md) has examples, configuration and CI.",
    "run": "[The auditor](auditor.md) has a worked example, and what is seen and what is not.",
    "adopt": "[Stepper](stepper.md#gradledger-adopt) says which loops are rewritten.",
    "report": "[Reports](reports.md) shows the page, the tables and the comparison of two runs.",
    "server": "[Editors](editors.md) says how to set it up.",
    "rules": "[The rules](rules/README.md), with a page for each.",
    "why": "[Why?](../why/index.md), with a page for each symptom and message.",
    "rule": "[The rules](rules/README.md), with a page for each.",
}
"""Where a command's own page is."""


def pages() -> dict[str, str]:
    """`reference/commands.md`."""
    parts = ["# Commands", "What `gradledger COMMAND --help` prints."]
    for name in COMMANDS:
        about = (command(name).__doc__ or "").strip().splitlines()[0]
        parts += [f"## gradledger {name}", about, f"```text\n{help_of(name)}```"]
        parts += [READ_ON[name]] if name in READ_ON else []
    return {"reference/commands.md": "\n\n".join(parts) + "\n"}


def help_of(name: str) -> str:
    """The help of a command, 80 columns wide."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    out = io.StringIO()
    try:
        with redirect_stdout(out):
            main([name, "--help"])
    except SystemExit:
        pass
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return out.getvalue()
