"""Each stage, used rightly in all ways and with each fault. It can be read without DeepSpeed."""

from __future__ import annotations

from pathlib import Path

STAGES = (0, 1, 2, 3)
OPTIONS = ((), ("clip",), ("bf16",))

FAULTS = {
    "divided twice": ("GL303", "the division"),
    "step once per window": ("GL301", "the backward"),
    "left over": ("GL203", "the backward"),
    "graphs kept": ("GL701", "the list"),
    "cleared inside the window": ("GL201", "the early clear"),
    "stepped without the engine": ("GL202", "the other step"),
}
"""What breaks which rule, at the line with which comment."""
HARMLESS = "cleared inside the window"
"""Where ZeRO has the gradients already."""

Case = tuple[int, tuple[str, ...]]
"""A stage, and what is done with it."""

RIGHT: dict[str, Case] = {
    f"stage {stage}, {' and '.join(how) or 'plain'}": (stage, how)
    for stage in STAGES
    for how in (*OPTIONS, (HARMLESS,))
    if stage or how != (HARMLESS,)
}
WRONG: dict[str, Case] = {
    f"stage {stage}, {fault}": (stage, (fault,))
    for stage in STAGES
    for fault in FAULTS
    if f"stage {stage}, {fault}" not in RIGHT
}
CASES = RIGHT | WRONG


def result_file(folder: Path, case: str, rank: int) -> Path:
    """Where this rank writes what it has to say to the case."""
    return folder / f"{list(CASES).index(case)}.rank{rank}.json"
