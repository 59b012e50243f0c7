"""The conditions of each rule, those that take code in a file of their own.

To say that nothing clears, or that nothing spends, is to say that whatever does was seen. Where
something close by does clear or spend, and only seems to be for other cells, the mistake is more
often ours than the program's: such a finding is possible, and no more.
"""

from __future__ import annotations

from gradledger.ledger.findings import Finding
from gradledger.static.certainty.conditions import Conditions, on_earlier_steps, on_nothing
from gradledger.static.certainty.gl101 import is_cleared_sometimes, surely_spent_before
from gradledger.static.certainty.gl201 import surely_dropped
from gradledger.static.certainty.gl202 import surely_empty
from gradledger.static.certainty.gl203 import is_left_over
from gradledger.static.certainty.gl204 import is_always_wasted, nothing_is_frozen
from gradledger.static.certainty.gl301 import (
    is_not_divided_by_all,
    may_be_cut_short,
    may_be_too_many,
)
from gradledger.static.certainty.gl401 import is_still_scaled
from gradledger.static.certainty.gl403 import is_not_updated
from gradledger.static.certainty.gl404 import nobody_has_a_part
from gradledger.static.certainty.gl405 import is_updated_behind_a_guard
from gradledger.static.certainty.gl501 import comes_to_nothing
from gradledger.static.certainty.gl502 import is_clipped_in_windows, is_in_a_window
from gradledger.static.certainty.gl503 import is_early_at_first, is_first_of_all
from gradledger.static.certainty.gl504 import is_out_of_step_inside, on_last_rounds
from gradledger.static.certainty.gl603 import is_exchanged_between_steps
from gradledger.static.certainty.gl606 import none_is_there
from gradledger.static.certainty.gl701 import outlives_windows
from gradledger.static.certainty.gl801 import all_are_local
from gradledger.static.certainty.gl902 import fails_where_it_steps
from gradledger.static.certainty.sight import Sight
from gradledger.static.lower.root import OF_CELLS, OF_SCALERS


def _between_two_steps(finding: Finding, sight: Sight) -> bool:
    """What happens between two steps is counted: whose, is only clear where one steps."""
    return sight.one_steps(finding.at)


CONDITIONS: dict[str, Conditions] = {
    "GL101": Conditions(
        on_earlier_steps,
        certain_anyway=is_cleared_sometimes,
        grounds=surely_spent_before,
        of_one_optimizer=True,
        in_turns=OF_CELLS,
    ),
    "GL102": Conditions(on_earlier_steps),
    "GL201": Conditions(grounds=surely_dropped, of_missing_steps=True),
    "GL202": Conditions(on_nothing, grounds=surely_empty),
    "GL203": Conditions(grounds=is_left_over),
    "GL204": Conditions(
        on_nothing, certain_anyway=is_always_wasted, grounds=nothing_is_frozen, in_turns=OF_CELLS
    ),
    "GL301": Conditions(
        certain_anyway=is_not_divided_by_all, grounds=may_be_too_many, of_one_optimizer=True
    ),
    "GL302": Conditions(grounds=may_be_cut_short, of_one_optimizer=True),
    "GL401": Conditions(grounds=is_still_scaled, of_one_optimizer=True),
    "GL402": Conditions(of_one_optimizer=True),
    "GL403": Conditions(on_earlier_steps, grounds=is_not_updated, in_turns=OF_SCALERS),
    "GL404": Conditions(grounds=nobody_has_a_part),
    "GL405": Conditions(certain_anyway=is_updated_behind_a_guard, grounds=_between_two_steps),
    "GL501": Conditions(on_nothing, grounds=comes_to_nothing),
    "GL502": Conditions(
        certain_anyway=is_clipped_in_windows, grounds=is_in_a_window, of_one_optimizer=True
    ),
    "GL503": Conditions(
        on_nothing,
        is_early_at_first,
        certain_anyway=is_first_of_all,
        of_one_optimizer=True,
        of_schedules=True,
    ),
    "GL504": Conditions(on_last_rounds, is_out_of_step_inside, of_one_optimizer=True),
    "GL603": Conditions(certain_anyway=is_exchanged_between_steps),
    "GL606": Conditions(grounds=none_is_there),
    "GL701": Conditions(certain_anyway=outlives_windows, of_one_optimizer=True),
    "GL702": Conditions(of_one_optimizer=True),
    "GL801": Conditions(grounds=all_are_local),
    "GL802": Conditions(grounds=_between_two_steps),
    "GL902": Conditions(grounds=fails_where_it_steps),
}
"""The other rules have none: what breaks them stands in the code, on all paths or on some."""

_NONE = Conditions()


def conditions_of(rule: str) -> Conditions:
    """What the rule asks for to be certain."""
    return CONDITIONS.get(rule, _NONE)
