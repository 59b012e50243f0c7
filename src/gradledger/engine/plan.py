"""`plan()`: which optimizations a Stepper uses, which it doesn't, and why."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from gradledger.engine.ownership import Ownership
from gradledger.engine.packing import Packing


@dataclass(frozen=True)
class Plan:
    """Which parameters are packed together, and why others are not. Print it."""

    packs: tuple[tuple[str, ...], ...]
    """The names in each pack."""
    loose: dict[str, str]
    """Why each of the others stays as it is, by name."""
    elements: int
    packed_elements: int

    def __str__(self) -> str:
        packed = sum(len(names) for names in self.packs)
        total = packed + len(self.loose)
        lines = [
            f"{packed} of {total} parameters ({self.packed_elements:,} of {self.elements:,} "
            f"elements) are stepped in {len(self.packs)} pack{'s' * (len(self.packs) != 1)}."
        ]
        reasons: defaultdict[str, list[str]] = defaultdict(list)
        for name, why in self.loose.items():
            reasons[why].append(name)
        for why, names in reasons.items():
            shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
            lines.append(f"  as it is: {shown}: {why}")
        return "\n".join(lines)


def make_plan(ownership: Ownership, packing: Packing, *, waiting: str | None) -> Plan:
    """The plan as it stands. `waiting`: why nothing has been decided yet."""
    names = ownership.names()
    return Plan(
        packs=tuple(tuple(names[id(p)] for p in pack.members) for pack in packing.packs),
        loose={
            names[id(p)]: waiting or packing.reasons.get(id(p), "it came later")
            for p in packing.loose
        },
        elements=sum(p.numel() for p in ownership.parameters()),
        packed_elements=sum(pack.flat.numel() for pack in packing.packs),
    )
