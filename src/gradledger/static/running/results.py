"""What came of one file: findings, and what could not be checked."""

from __future__ import annotations

from gradledger.ledger.tuples import NamedTuple
from gradledger.static.checked import Checked
from gradledger.static.reading.sources import Trouble


class Result(NamedTuple):
    """What came of one file, with places as people see them (`nb.ipynb:cell 3`)."""

    checked: Checked = Checked()
    troubles: tuple[Trouble, ...] = ()
    """Why the file, or cells of it, could not be checked. What could be is in `checked`."""
    relevant: bool = True
    """False: a look at its bytes said that there are no gradients in it; nothing to follow."""
    calls: bool = False
    """It says nothing of gradients, and was followed for what it calls in other files."""


IRRELEVANT = Result(relevant=False)
