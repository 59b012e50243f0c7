"""A sparkline: how a number changes over a whole run, in a few characters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

MOST = 128
"""How many points are kept. In a longer run, each is the mean of more steps."""
LEVELS = "▁▂▃▄▅▆▇█"
FLAT = 0.05
"""Relative changes smaller than this are drawn flat: they would be noise."""


class Course:
    """Means of equally many values each, from the first value to the latest."""

    def __init__(self) -> None:
        self.latest = math.nan
        self._means: list[float] = []
        self._each = 1
        self._mean, self._count = 0.0, 0

    def add(self, value: float) -> None:
        """Adds a value. One that is not finite is left out."""
        self.latest = value
        if not math.isfinite(value):
            return
        self._count += 1
        self._mean += (value - self._mean) / self._count  # a sum might overflow
        if self._count == self._each:
            self._means.append(self._mean)
            self._mean, self._count = 0.0, 0
            if len(self._means) == MOST:
                pairs = zip(self._means[::2], self._means[1::2], strict=True)
                self._means = [a / 2 + b / 2 for a, b in pairs]
                self._each *= 2

    @property
    def points(self) -> tuple[float, ...]:
        """The means of all complete points."""
        return tuple(self._means)


def sparkline(points: Sequence[float], width: int) -> str:
    """One bar for each point, or for equally many of them; heights are logarithmic."""
    if not points or width < 1:
        return ""
    count = min(width, len(points))
    edges = [number * len(points) // count for number in range(count + 1)]
    parts = [points[a:b] for a, b in pairwise(edges)]
    bars = [sum(point / len(part) for point in part) for part in parts]
    heights = [math.log(bar) if bar > 0 else -math.inf for bar in bars]
    low = min((height for height in heights if math.isfinite(height)), default=0.0)
    span = max(heights) - low

    def level(height: float) -> str:
        if height < low:
            return LEVELS[0]
        share = (height - low) / span if span > FLAT else 0.5
        return LEVELS[min(int(share * len(LEVELS)), len(LEVELS) - 1)]

    return "".join(map(level, heights))
