"""Where a rule's page is on the web, if the package says where its documentation is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, metadata

from gradledger.rules.rule import Rule

LABEL = "documentation"


def page_of(rule: Rule) -> str | None:
    """The address of docs/rules/GL101.md there; None where no address is declared."""
    try:
        declared = metadata("gradledger").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    for line in declared:
        label, _, url = line.partition(",")
        if label.strip().lower() == LABEL:
            return f"{url.strip().rstrip('/')}/rules/{rule.code}.md"
    return None
