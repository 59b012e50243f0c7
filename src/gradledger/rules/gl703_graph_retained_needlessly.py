"""GL703: retain_graph=True where nothing walks that graph again."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Backward, RunEnd
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, event: Backward | RunEnd) -> Iterator[Breach]:
    """A retained graph was not walked again before its call site's turn came round (Law 7)."""
    detail = "keeps a graph that nothing uses again"
    # In a loop over losses, one line keeps the graph for the next loss; only the last is too many.
    needless = page.retained - page.rewalked
    match event:
        case Backward(continues=False) if event.at in needless and event.at not in event.walks:
            yield Breach(event.at, detail, cells=event.cells)
        case RunEnd(crashed=False):
            for at in sorted(needless, key=lambda place: place.sort_key):
                yield Breach(at, detail)


RULE = Rule(
    code="GL703",
    name="graph-retained-needlessly",
    severity=Severity.INFO,
    law=Law.LIGHT,
    seen_by=SeenBy.BOTH,
    says="retain_graph=True keeps a graph here that nothing uses again",
    explains=(
        "`retain_graph=True` keeps everything the backward pass needed, so that the same graph "
        "can be walked again: two losses with a common part, each with its own backward. "
        "The last of them doesn't need it. Often it was added to silence an error whose "
        "cause is a state that is not detached."
    ),
    why=("Activations stay in memory until the graph is freed, and the flag hides real mistakes."),
    fix="leave retain_graph out",
    symptom="more memory than the model needs",
    broken=broken,
    yields_to=("GL702",),
)
