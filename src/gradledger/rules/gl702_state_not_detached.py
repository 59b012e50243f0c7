"""GL702: a state carries its graph into the next iteration."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Backward
from gradledger.rules.evidence import also
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, backward: Backward) -> Iterator[Breach]:
    """A backward walks once more through the graph of a state that was walked before (Law 7)."""
    for kept in page.kept:
        if kept.what == "state" and kept.walked and kept.at in backward.walks:
            detail = "carries a graph that an earlier backward has already walked"
            yield Breach(kept.at, detail, also("walked again", backward.at), backward.cells)


RULE = Rule(
    code="GL702",
    name="state-not-detached",
    severity=Severity.ERROR,
    law=Law.LIGHT,
    seen_by=SeenBy.BOTH,
    says="a state is carried into the next iteration together with its graph",
    explains=(
        "The hidden state of a recurrent model (or any tensor that is handed on) still knows "
        "how it was computed. The next loss depends on it, so the next backward walks through "
        "the last iteration as well, and the one before."
    ),
    why=(
        "PyTorch raises at the second backward, because the graph is freed. With "
        "`retain_graph=True`, the usual way to silence that, every backward is longer than the "
        "one before, and time and memory grow without end."
    ),
    fix="detach the state between iterations: state = state.detach()",
    symptom=(
        "RuntimeError: Trying to backward through the graph a second time; or each iteration "
        "slower than the last"
    ),
    broken=broken,
)
