"""What an audit did not see, stored as remarks: one for each kind and reason."""

from __future__ import annotations

import json

from gradledger.ledger.unseen import Unseen
from gradledger.recording.recorder import Recorder

UNSEEN = "unseen"
"""The topic."""


def note_unseen(recorder: Recorder, unseen: Unseen) -> None:
    """Take all that there was of its kind so far; it takes the place of what was said before."""
    told = {
        "what": unseen.what,
        "why": unseen.why,
        "count": unseen.count,
        "names": list(unseen.names),
    }
    recorder.remark(UNSEEN, json.dumps(told), name=f"{unseen.what}: {unseen.why}")


def decode_unseen(text: str) -> Unseen:
    """The remarks that were recorded."""
    told = json.loads(text)
    return Unseen(
        str(told["what"]), str(told["why"]), int(told["count"]), tuple(map(str, told["names"]))
    )
