"""The page of the playground, and the links of other pages that open it."""

from __future__ import annotations

from gradledger.rules import CATALOGUE
from website.playground.examples import is_checked, name_of
from website.playground.links import try_it

_HEAD = """---
hide:
  - navigation
  - toc
---

# Playground

`gradledger check` in your browser. Change the code: it is checked as you type, and the player below
steps through it and shows what every `.grad` holds. Nothing is sent anywhere.

"""
_FOOT = """
Python runs here with Pyodide, and the editor is CodeMirror:
<a href="assets/playground/THIRD_PARTY.txt">their licences</a>. The checker reads the code and runs
none of it, so it needs no PyTorch. [More about the checker](reference/checker.md).
{ .playground-note }
"""


def page(why_not: str) -> str:
    """The page; without a playground, it says why."""
    if why_not:
        return (
            f"{_HEAD}!!! warning\n\n    This copy of the site was built without the playground: "
            f"{why_not}. On your own machine, [`gradledger check`](reference/checker.md) does the "
            "same.\n"
        )
    return (
        f'{_HEAD}<link rel="stylesheet" href="assets/playground/style.css">\n'
        '<div id="pg" data-rules="reference/rules/"><p>The playground needs JavaScript, '
        "and a page that comes from a web server (<code>make site-serve</code>), not from a file."
        "</p></div>\n"
        f'<script type="module" src="assets/playground/playground.js"></script>\n{_FOOT}'
    )


def with_links(page: str, path: str) -> str:
    """A rule's page, with a link behind each of its programs."""
    for rule in filter(is_checked, CATALOGUE):
        if path == f"docs/rules/{rule.code}.md":
            for title, kind in (("\n## Use instead\n", "bad"), ("\n## The difference\n", "good")):
                assert title in page, f"{path} has no{title}"
                link = try_it(name_of(rule, kind), depth=2)
                page = page.replace(title, f"\n{link}\n{title}", 1)
    return page
