"""GL303: the framework divides the loss by the window, and so does the code."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Backward
from gradledger.rules.evidence import also
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, backward: Backward) -> Iterator[Breach]:
    """A loss that the framework divides comes to it divided by the code (Law 3)."""
    weight = backward.weight
    # A sum that is divided is made a mean of its items, not of the window.
    divided = weight.divisor not in (None, 1) and weight.reduction != "sum"
    if weight.framework_divides and divided:
        by = f"{weight.divisor:g}" if isinstance(weight.divisor, int | float) else weight.divisor
        detail = f"divides by {by}, and the framework divides by the window as well"
        evidence = also("deposited", backward.at)
        yield Breach(weight.divided_at or backward.at, detail, evidence, backward.cells)


RULE = Rule(
    code="GL303",
    name="accumulation-normalized-twice",
    severity=Severity.ERROR,
    law=Law.WEIGHED,
    seen_by=SeenBy.BOTH,
    says="the loss is divided by the window here, and the framework divides it once more",
    explains=(
        "Accelerate inside `accumulate()`, Lightning, DeepSpeed and the HF Trainer divide the "
        "loss by the number of micro-batches themselves. Code that was moved there from a plain "
        "loop often still divides as well. `loss.backward()` instead of the framework's own "
        "backward is the opposite mistake: then the loss isn't divided at all."
    ),
    why=(
        "The update is N times too small: training looks slow, and a larger learning rate hides it."
    ),
    fix="leave the division to the framework",
    symptom="accumulation learns N times slower than it should",
    broken=broken,
)
