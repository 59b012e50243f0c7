"""GL903: hundreds of deposits are added up in bf16 or fp16."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Step
from gradledger.rules.evidence import deposited, total
from gradledger.rules.rule import Rule, SeenBy, Severity

ENOUGH_TO_VANISH = 256
"""bf16 has 8 significant bits: 256 + 1 is 256."""


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """So many deposits lie in one low-precision cell that small ones vanish (Law 9)."""
    for names, cell in page.spent_by(step):
        seen = names & step.vanished
        count = total(cell.fresh)
        many = cell.traits.low_precision and page.counting.at_least(count, ENOUGH_TO_VANISH)
        if not seen and many is False:
            continue
        detail = f"spends {count} deposits added up in low precision"
        sure = bool(seen) or many is True
        yield Breach(step.at, detail, deposited(cell.fresh), seen or names, sure)


RULE = Rule(
    code="GL903",
    name="low-precision-accumulation",
    severity=Severity.WARNING,
    law=Law.WHOLE,
    seen_by=SeenBy.RUN,
    says="this step spends many deposits that were added up in bf16 or fp16",
    explains=(
        "bf16 has 8 significant bits. Once the sum is 256 times the size of a deposit, adding "
        "one more changes nothing: 300 gradients of 1 add up to 256. The same holds for fp16 "
        "from 2048 on. `param.grad_dtype = torch.float32` makes a bf16 parameter accumulate in "
        "fp32, for optimizers that take such gradients (SGD does, AdamW does not)."
    ),
    why=(
        "The later micro-batches of a long window have no effect, so the window is smaller "
        "than it looks."
    ),
    fix="accumulate in fp32: keep the parameters in fp32 under autocast",
    symptom="a longer window does not help any more",
    broken=broken,
)
