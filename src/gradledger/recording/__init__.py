"""The run file: SQLite, one per rank, survives kill -9. Standard library only, never torch.

`Recorder` writes while the training runs; `Recording` reads, then or later. docs/recording.md
describes the tables for those who would rather ask SQLite itself.
"""

from gradledger.recording.paths import rank_path
from gradledger.recording.recorder import Recorder
from gradledger.recording.recording import Measure, Noted, Recorded, Recording, Remark, Series
from gradledger.recording.run import RunInfo
from gradledger.recording.trouble import RecordingWarning

__all__ = [
    "Measure",
    "Noted",
    "Recorded",
    "Recorder",
    "Recording",
    "RecordingWarning",
    "Remark",
    "RunInfo",
    "Series",
    "rank_path",
]
