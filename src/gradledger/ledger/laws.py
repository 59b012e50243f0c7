"""The nine laws of the gradient lifecycle, numbered here and nowhere else."""

from __future__ import annotations

from gradledger.ledger.enums import Enum


class Law(Enum):
    """A law's number is the first digit of the codes of the rules that guard it."""

    ONCE = (1, "Once", "A deposit is spent at most once.")
    USED = (2, "Used", "A deposit is spent before it is cleared.")
    WEIGHED = (
        3,
        "Weighed",
        "The deposits of a window add up to the gradient of the mean over all its items.",
    )
    ONE_UNIT = (
        4,
        "One unit",
        "The deposits of a window have one scale; clip, inspection and step see them unscaled.",
    )
    IN_ORDER = (
        5,
        "In order",
        "Backward comes first, then unscale, clip, step, update and scheduler, and clear.",
    )
    OWNED = (6, "Owned", "A cell has one owner, and that owner spends what lands in it.")
    LIGHT = (7, "Light", "No graph outlives its step.")
    SAME_EVERYWHERE = (8, "Same everywhere", "All ranks spend the same window.")
    WHOLE = (9, "Whole", "A window is spent complete and finite, or not at all.")

    def __init__(self, number: int, title: str, text: str) -> None:
        self.number = number
        self.title = title
        self.text = text

    def __str__(self) -> str:
        return f"Law {self.number} ({self.title}): {self.text}"
