"""Which threads are running just now, and which only wait.

Torch is not safe against a thread that reads a `.grad` while another works with that gradient: its
Python object may be given up at that moment, and memory is corrupted. So what another thread has
in its hands is looked at only while that thread waits, or when it has ended.
"""

from __future__ import annotations

import sys
import threading

_WAITING = ("threading.py", "queue.py", "queues.py", "thread.py", "_base.py", "selectors.py")
"""Files of the standard library that a thread is in while it waits for another."""


class WorkingThreads:
    """The threads at one moment."""

    def __init__(self) -> None:
        self._me = threading.get_ident()
        self._known: dict[int, bool] = {}

    def works(self, thread: int) -> bool:
        """Is it another thread, and may it be working with gradients?"""
        if thread == self._me:
            return False
        known = self._known.get(thread)
        if known is None:
            frame = sys._current_frames().get(thread)
            known = frame is not None and not frame.f_code.co_filename.endswith(_WAITING)
            self._known[thread] = known
        return known
