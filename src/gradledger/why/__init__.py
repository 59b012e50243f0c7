"""From a symptom or an error message to its likely causes: plain data, and how it is looked up."""

from gradledger.why.entry import Cause, Entry
from gradledger.why.matching import matches
from gradledger.why.messages import MESSAGES
from gradledger.why.symptoms import SYMPTOMS

ENTRIES: tuple[Entry, ...] = (*SYMPTOMS, *MESSAGES)
"""Everything that can be looked up, each with a page of its own on the website."""

__all__ = ["ENTRIES", "MESSAGES", "SYMPTOMS", "Cause", "Entry", "matches"]
