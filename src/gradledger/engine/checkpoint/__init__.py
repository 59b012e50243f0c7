"""Files that are whole or not there, and that never run code.

A checkpoint is what torch.save writes, and behind it a seal: the length and the checksum of all
that comes before. torch reads past the seal, so that torch.load opens checkpoints, too. It also
reads past the checksums of its own zip files: without a seal, a flipped bit is another weight.
"""

from gradledger.engine.checkpoint.fitting import describe, differences, take_up
from gradledger.engine.checkpoint.kinds import described, misfits
from gradledger.engine.checkpoint.reading import read
from gradledger.engine.checkpoint.sealing import HEADER
from gradledger.engine.checkpoint.writing import write

__all__ = [
    "HEADER",
    "describe",
    "described",
    "differences",
    "misfits",
    "read",
    "take_up",
    "write",
]
