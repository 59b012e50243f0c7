"""Double-entry bookkeeping for gradients: events, cells, pages and the book. Standard library only.

Read it in this order: `laws`, `events` (what can happen), `cells` (what a `.grad` holds),
`page` (everything at one moment), `posting` (what an event does to a page), `outcomes` (and which
rules it breaks), `book` (the run).
"""

from gradledger.ledger.findings import Breach, Certainty, Evidence, Finding, one_per_fault
from gradledger.ledger.laws import Law
from gradledger.ledger.outcomes import Judge, Outcomes, Tally
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.ledger.posting import post

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.ledger.book import Book

__all__ = [
    "Book",
    "Breach",
    "Certainty",
    "Evidence",
    "Finding",
    "Judge",
    "Law",
    "Outcomes",
    "Page",
    "Place",
    "Tally",
    "one_per_fault",
    "post",
]


def __getattr__(name: str) -> object:
    if name == "Book":  # a run has one, and a check has none
        from gradledger.ledger.book import Book

        return Book
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
