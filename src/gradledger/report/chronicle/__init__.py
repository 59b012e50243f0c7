"""What happened in a run, in turns: what every report of a recording is made of.

`told` replays a recording through the ledger, without torch; `glimpse` only looks into it. The rest
is the story's shape (`story`), in words (`weighing`), window by window (`windows`), and rank beside
rank (`ranks`).
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
