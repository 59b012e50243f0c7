"""The sections of the site and the order of its pages."""

from __future__ import annotations

from typing import Any

from gradledger.rules import CATALOGUE
from gradledger.why import MESSAGES, SYMPTOMS
from website.layout import ROOT

Nav = list[Any]

LESSONS = (
    "leaves",
    "backward",
    "loop",
    "forgotten",
    "clearing",
    "optimizers",
    "accumulation",
    "several",
    "amp",
    "recurrent",
    "interrupted",
    "ranks",
)
"""In the order in which one learns them."""
AFTER_THEM = ("cheat-sheet", "guides")


def navigation() -> Nav:
    """As mkdocs wants it: titles and files, nested."""
    return [
        {"Start": ["index.md", "start.md"]},
        {"Learn": [f"learn/{name}.md" for name in ("index", *LESSONS, *AFTER_THEM)]},
        {"Playground": "playground.md"},
        {"Why?": _why()},
        {"Reference": _reference()},
    ]


def _why() -> Nav:
    symptoms = [{entry.title: f"why/{entry.name}.md"} for entry in SYMPTOMS]
    messages = [{entry.title: f"why/{entry.name}.md"} for entry in MESSAGES]
    return ["why/index.md", {"What you see": symptoms}, {"What torch prints": messages}]


def _reference() -> Nav:
    return [
        "reference/index.md",
        {"Commands": "reference/commands.md"},
        {"Rules": ["reference/rules/README.md", *_rules()]},
        {
            "Guides": [
                {"The checker": "reference/checker.md"},
                {"The auditor": "reference/auditor.md"},
                {"Reports": "reference/reports.md"},
                {"Stepper": "reference/stepper.md"},
                {"Stepper on many ranks": "reference/many-ranks.md"},
                {"Examples": "reference/examples.md"},
                {"Testing": "reference/testing.md"},
            ]
        },
        {
            "Integrations": [
                {"Frameworks": "reference/frameworks.md"},
                {"Notebooks": "reference/notebooks.md"},
                {"Editors": "reference/editors.md"},
                {"Setting up an editor": "reference/editors-setup.md"},
                {"CI": "reference/ci.md"},
            ]
        },
        {
            "Python API": [
                {"What is stable": "reference/api.md"},
                {"Stepper": "reference/api/stepper.md"},
                {"Auditing and testing": "reference/api/audit.md"},
                {"Integrations": "reference/api/integrations.md"},
                {"Errors": "reference/api/errors.md"},
                {"The ledger": "reference/api/ledger.md"},
                {"Events": "reference/api/events.md"},
            ]
        },
        {"Formats": [{"The recording": "reference/recording.md"}]},
        {
            "Benchmarks": [
                {"Side by side": "reference/benchmarks.md"},
                {"Public programs, run": "reference/public-programs.md"},
                {"Public code, checked": "reference/public-code.md"},
                {"Found in the wild": "reference/found-in-the-wild.md"},
                {"Each finding": "reference/public-code-readings.md"},
                {"The repositories": "reference/public-code-repositories.md"},
            ]
        },
        {
            "Internals": [
                {"Contributing": "reference/contributing.md"},
                {"Tests": "reference/tests.md"},
                {"Decisions": ["reference/decisions/README.md", *_decisions()]},
                {"Private names of PyTorch": "reference/torch-internals.md"},
                {"Changes": "reference/changes.md"},
            ]
        },
    ]


def _rules() -> Nav:
    return [{f"{r.code} {r.name}": f"reference/rules/{r.code}.md"} for r in CATALOGUE]


def _decisions() -> Nav:
    files = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    return [f"reference/decisions/{path.name}" for path in files]
