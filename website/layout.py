"""Where each file of the repository is on the site, and where the site is built."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "website" / "pages"
PROGRAMS = ROOT / "website" / "programs"
OUTPUTS = ROOT / "website" / "outputs"
ASSETS = ROOT / "website" / "assets"
BUILD = ROOT / "build" / "site-source"
"""The Markdown that mkdocs reads: assembled anew by each build."""
SITE = ROOT / "build" / "site"

NAMED = {
    "README.md": "index.md",
    "CHANGELOG.md": "reference/changes.md",
    "CONTRIBUTING.md": "reference/contributing.md",
    "docs/README.md": "reference/index.md",
    "editors/README.md": "reference/editors-setup.md",
    "examples/README.md": "reference/examples.md",
    "tests/README.md": "reference/tests.md",
}
"""Pages of the repository whose place on the site does not follow from their path."""

SOURCES = "source"
"""The folder of pages that show a file of the repository."""


def page_of(path: str) -> str:
    """The page or file of the site that shows this file or folder of the repository."""
    if path in NAMED:
        return NAMED[path]
    if path.startswith("docs/"):
        return f"reference/{path.removeprefix('docs/')}"
    if (ROOT / path).is_dir():
        readme = f"{path}/README.md"
        return page_of(readme) if (ROOT / readme).exists() else f"{SOURCES}/{path}/index.md"
    return f"{SOURCES}/{path}.md"


def relative(target: str, *, to: str) -> str:
    """The link from one page of the site to another."""
    here = PurePosixPath(to).parent.parts
    there = PurePosixPath(target).parts
    common = 0
    while common < min(len(here), len(there) - 1) and here[common] == there[common]:
        common += 1
    return "/".join([".."] * (len(here) - common) + list(there[common:]))
