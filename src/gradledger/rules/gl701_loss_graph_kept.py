"""GL701: a loss is added up or stored over iterations with its graph."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Keep
from gradledger.rules.evidence import also, counted
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, keep: Keep) -> Iterator[Breach]:
    """More is put on a graph that has outlived a step, or its data for nothing (Law 7)."""
    if keep.what != "loss":
        return
    who = f"`{keep.holder}` keeps" if keep.holder else "keeps"
    if keep.graphs:
        detail = f"{who} the graphs of {counted(keep.graphs, 'iteration')}"
        if keep.age:
            detail += f", the oldest {counted(keep.age, 'step')} old"
        yield Breach(keep.at, detail, also("out of memory", keep.died_at), last_word=True)
    elif any(k.at == keep.at and (k.outlived_step or k.outlived_batch) for k in page.kept):
        yield Breach(keep.at, f"{who} the graphs of all iterations so far")


RULE = Rule(
    code="GL701",
    name="loss-graph-kept",
    severity=Severity.WARNING,
    law=Law.LIGHT,
    seen_by=SeenBy.BOTH,
    says="a loss or an output is kept over iterations together with its graph",
    explains=(
        "`total += loss` or `losses.append(loss)` keeps not only the number but the graph behind "
        "it. After its backward that is the skeleton of the graph; for a loss that is never "
        "differentiated (an evaluation without `no_grad`), it is all its activations. Adding up "
        "losses and calling backward once on the sum isn't reported."
    ),
    why=(
        "Memory grows with every iteration: slowly in a training loop, by a whole forward pass "
        "at a time if no backward frees it. Freeing the long chain at the end is slow, too."
    ),
    fix=(
        "keep the number: total += loss.item(), or loss.detach() to avoid the wait for the device"
    ),
    symptom="out of memory after some hundred iterations; memory that grows steadily",
    broken=broken,
    yields_to=("GL702",),
)
