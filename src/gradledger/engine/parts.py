"""The parts of a Stepper that all steps of its cycle share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.optim.lr_scheduler import LRScheduler

from gradledger.engine.options import Options
from gradledger.engine.ownership import Ownership
from gradledger.engine.packing import Packing
from gradledger.engine.ranks.meetings import Meetings
from gradledger.engine.scaling import Scaling
from gradledger.engine.sums import Sums
from gradledger.engine.telling import Telling
from gradledger.engine.window import Window


class Parts:
    """The user's own objects, behind what stands for them here, and the window that is open."""

    def __init__(
        self,
        ownership: Ownership,
        packing: Packing,
        scaling: Scaling,
        schedulers: Sequence[LRScheduler],
        options: Options,
        join: Callable[[Window, Sums], Meetings] | None = None,
    ) -> None:
        self.ownership = ownership
        self.packing = packing
        self.scaling = scaling
        self.schedulers = schedulers
        self.options = options
        self.telling = Telling(ownership, scaling, options, local=join is not None)
        self.window = Window(options.accumulate)
        self.sums = Sums(packing)
        self.meetings = None if join is None else join(self.window, self.sums)
        """With the other ranks, where there are some."""
        self.device = torch.device("cpu")
        """Where losses are."""
        if join is not None:
            self.device = ownership.parameters()[0].device  # also of a rank without a loss
