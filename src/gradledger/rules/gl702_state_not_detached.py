"""GL702: a state carries its graph into the next iteration."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Backward, Keep
from gradledger.rules.evidence import also, counted
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, event: Backward | Keep) -> Iterator[Breach]:
    """A backward walks once more through the graph of a state that was walked before (Law 7)."""
    if isinstance(event, Keep):
        if event.what == "state" and event.graphs:
            graphs = f"carries the graphs of {counted(event.graphs, 'iteration')}"
            evidence = also("out of memory", event.died_at)
            yield Breach(event.at, _by(event.holder, graphs), evidence, last_word=True)
        return
    if event.continues:  # the same walk, told in pieces
        return
    for kept in page.kept:
        if kept.what == "state" and kept.walked and kept.at in event.walks:
            detail = _by(kept.holder, "carries a graph that an earlier backward has already walked")
            yield Breach(kept.at, detail, also("walked again", event.at), event.cells)


def _by(holder: str, does: str) -> str:
    return f"`{holder}` {does}" if holder else does


RULE = Rule(
    code="GL702",
    name="state-not-detached",
    severity=Severity.ERROR,
    law=Law.LIGHT,
    seen_by=SeenBy.BOTH,
    says="a state is carried into the next iteration together with its graph",
    explains=(
        "The hidden state of a recurrent model (or any tensor that is carried over) still refers "
        "to the graph that computed it. The next loss depends on it, so the next backward walks "
        "through the last iteration as well, and the one before."
    ),
    why=(
        "PyTorch raises at the second backward, because the graph is freed. With "
        "`retain_graph=True`, the usual workaround, every backward is longer than the "
        "one before, and time and memory grow without end."
    ),
    fix="detach the state between iterations: state = state.detach()",
    symptom=(
        "RuntimeError: Trying to backward through the graph a second time; or each iteration "
        "slower than the last"
    ),
    broken=broken,
)
