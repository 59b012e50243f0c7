"""Programs that were misjudged once, most of them as twins: right by one line, faulty without it.

Each is the shortest that shows a cause, and each gave the wrong answer before that was mended.
docs/public-code-readings.md says where they come from: readings of public code, and people who
wrote right programs to have them blamed. They stand by what is at fault in the faulty twin.
"""

from __future__ import annotations

from tests.static.twins import (
    against_each_other,
    faults,
    graphs,
    left_over,
    order,
    outputs,
    owners,
    ranks,
    scaling,
    spent_again,
    sums,
    thrown_away,
    wasted,
    weights,
)

MODULES = (
    *(spent_again, thrown_away, left_over, wasted, against_each_other),
    *(weights, scaling, order, owners, graphs, outputs, sums, ranks, faults),
)
TWINS = {name: text for module in MODULES for name, text in module.TWINS.items()}
assert len(TWINS) == sum(len(module.TWINS) for module in MODULES), "two have one name"
