"""The observer: runs a training program under real torch and tells what really happened.

Plain and slow on purpose: it is the oracle that rules, the checker and the auditor are judged by.
Each module watches one kind of thing; all of them write to one journal.
"""

from tests.observer.observation import Observation, observe
from tests.observer.ranks import observe_ranks

__all__ = ["Observation", "observe", "observe_ranks"]
