"""Double-entry bookkeeping for gradients: events, cells, pages and the book. Standard library only.

Read it in this order: `laws`, `events` (what can happen), `cells` (what a `.grad` holds),
`page` (everything at one moment), `posting` (what an event does to a page), `outcomes` (and which
rules it breaks), `book` (the run).
"""

from gradledger.ledger.book import Book, one_per_fault
from gradledger.ledger.findings import Breach, Certainty, Evidence, Finding
from gradledger.ledger.laws import Law
from gradledger.ledger.outcomes import Judge, Outcomes
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.ledger.posting import post
from gradledger.ledger.tally import Tally

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
