"""The chronicle of a run: what happened in each turn. Every report of a recording is made from it.

`told` replays a recording through the ledger, without torch; `glimpse` reads only its findings.
`story` has the data types, `weighing` describes weights in words, `windows` lists windows, and
`ranks` compares ranks.
"""

from gradledger.report.chronicle.filming import Shot
from gradledger.report.chronicle.ranks import Difference, differences, together
from gradledger.report.chronicle.story import (
    FATES,
    KINDS,
    NOBODY,
    Chronicle,
    Flow,
    Lane,
    Mark,
    Part,
    Pin,
    Spending,
)
from gradledger.report.chronicle.telling import glimpse, told
from gradledger.report.chronicle.weighing import weighed
from gradledger.report.chronicle.windows import Used, Window, windows

__all__ = [
    "FATES",
    "KINDS",
    "NOBODY",
    "Chronicle",
    "Difference",
    "Flow",
    "Lane",
    "Mark",
    "Part",
    "Pin",
    "Shot",
    "Spending",
    "Used",
    "Window",
    "differences",
    "glimpse",
    "together",
    "told",
    "weighed",
    "windows",
]
