"""Which cure a rule has. A rule that is not here needs a decision that is not ours.

Not here though its cure is one edit:
- GL402, because some who step on scaled gradients mean it (Adam does not mind);
- GL703, because a model may carry a state in itself: without `retain_graph` the next turn would
  crash, and all that is to be gained is memory;
- GL102 and GL204, because only the author knows which loss is for whom.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradledger.static.fix.clears import clear_the_spent, move_the_clear
from gradledger.static.fix.fault import Cure
from gradledger.static.fix.graphs import keep_the_number
from gradledger.static.fix.ordering import clip_before_the_step, schedule_after_the_step
from gradledger.static.fix.scaling import unscale_first, unscale_once, update_after_the_step
from gradledger.static.fix.weights import divide_once

CURES: Mapping[str, Cure] = {
    "GL101": clear_the_spent,
    "GL201": move_the_clear,
    "GL303": divide_once,
    "GL401": unscale_first,
    "GL403": update_after_the_step,
    "GL405": unscale_once,
    "GL501": clip_before_the_step,
    "GL503": schedule_after_the_step,
    "GL701": keep_the_number,
}
