"""GL803: parameters differ between ranks after a step."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Compare
from gradledger.rules.evidence import counted
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, compare: Compare) -> Iterator[Breach]:
    """The replicas were compared and are not equal (Law 8)."""
    if not compare.equal:
        differ = counted(len(compare.cells), "parameter")
        yield Breach(compare.at, f"{differ} differ between ranks", cells=compare.cells)


RULE = Rule(
    code="GL803",
    name="ranks-diverged",
    severity=Severity.ERROR,
    law=Law.SAME_EVERYWHERE,
    seen_by=SeenBy.RUN,
    says="parameters differ between ranks after this step",
    explains=(
        "Replicas start equal and spend equal gradients, so they stay equal bit for bit. They "
        "diverge when the model is not wrapped, is initialised or changed per rank after wrapping, "
        "or when gradients are changed after they were averaged."
    ),
    why=(
        "The ranks train different models, each on a part of the data. They no longer have "
        "the averaged updates that data-parallel training relies on."
    ),
    fix=(
        "wrap the model after all changes to it, and change gradients only in ways that are "
        "equal on all ranks"
    ),
    symptom=("evaluation differs between ranks; resuming from a checkpoint makes the loss jump"),
    broken=broken,
    yields_to=("GL801",),
)
