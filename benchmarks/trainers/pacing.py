"""Trainers that own their loop, for the stop-watch: as many batches at a time as one asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from threading import Semaphore, Thread

import torch
from torch import Tensor

from benchmarks.tasks import Data


class Paced:
    """Runs a training that never ends in a thread of its own, and lets it go on by whole passes.

    So what it costs to begin and to end a training is not timed, only its steps. A trainer that
    draws a batch ahead finds the first of the same data again.
    """

    def __init__(self, train: Callable[[Iterator[tuple[Tensor, Tensor]]], object]) -> None:
        self._train = train
        self._data: Data = []
        self._trained = 0
        self._begin, self._end = Semaphore(0), Semaphore(0)
        self._error: BaseException | None = None

    def run(self, data: Data) -> None:
        if not self._data:
            self._data = data
            Thread(target=self._work, args=[torch.get_num_threads()], daemon=True).start()
        if data is not self._data:
            raise ValueError("a paced trainer goes over the same data again and again.")
        self._begin.release()
        self._end.acquire()
        if self._error is not None:
            raise self._error

    def trained(self) -> None:
        """To be called by the trainer after each micro-batch."""
        self._trained += 1
        if self._trained % len(self._data) == 0:
            self._end.release()
            self._begin.acquire()

    def _work(self, threads: int) -> None:
        torch.set_num_threads(threads)  # which OpenMP keeps for each thread
        self._begin.acquire()
        try:
            self._train(cycle(self._data))
        except BaseException as error:
            self._error = error
            self._end.release()
