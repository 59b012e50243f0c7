"""Spreads work over processes, and survives the death of each of them.

Made by hand from fork and pipes: `multiprocessing` costs more time to import than most runs have
work to share, and a pool of it hangs where one of its processes is killed.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

_HEAD = 8


class Died(NamedTuple):
    """The answer where the process came to its end while it worked on it."""

    signal: int
    """Which one killed it; 0 where it ended by itself."""


def available(wanted: int | None = None) -> int:
    """How many processes to use: as many as wanted, or as there are processors for us.

    One, where we can't make others.
    """
    if not hasattr(os, "fork") or _threaded():
        return 1
    if wanted is not None:
        return max(1, wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def spread(
    items: Sequence[int],
    work: Callable[[int], Any],
    *,
    jobs: int,
    at_once: int,
    weigh: Callable[[int], int] = lambda item: 1,
) -> Iterator[tuple[int, Any]]:
    """Each item with what `work` makes of it in one of `jobs` processes, as they get ready.

    Answers are made of lists, texts and numbers. A process takes up to `at_once` neighbours at a
    time; when it dies, those are done again one by one, so that only the one that killed it is
    lost. What weighs most is begun first, so that nobody waits for it at the end.
    Ending the iterator ends all processes.
    """
    team = _Team(work)
    waiting = _lots(items, at_once, weigh)[::-1]
    waiting.sort(key=lambda task: sum(map(weigh, task)))
    try:
        while waiting or team.busy:
            while waiting and (worker := team.idle(jobs)):
                worker.give(waiting.pop())
            for worker in team.ready():
                task, answers = worker.take()
                if answers is not None:
                    yield from zip(task, answers, strict=True)
                    continue
                died = team.bury(worker)
                if len(task) == 1:
                    yield task[0], died
                else:
                    waiting += [[item] for item in reversed(task)]
    finally:
        team.end()


def _lots(items: Sequence[int], at_once: int, weigh: Callable[[int], int]) -> list[Sequence[int]]:
    """Neighbours together, but not so many that they weigh more than most: `at_once` on average."""
    most = sum(map(weigh, items)) * at_once / max(len(items), 1)
    lots: list[list[int]] = []
    weight = 0
    for item in items:
        weight += weigh(item)
        if not lots or weight > most or len(lots[-1]) == at_once:
            lots.append([])
            weight = weigh(item)
        lots[-1].append(item)
    return list(lots)


class _Worker:
    """One process, and the pipes to it."""

    def __init__(self, pid: int, tasks: int, answers: int) -> None:
        self.pid = pid
        self.tasks = tasks
        self.answers = answers
        self.task: Sequence[int] = ()

    def give(self, task: Sequence[int]) -> None:
        self.task = task
        with contextlib.suppress(BrokenPipeError):  # it is dead: its answer will tell
            _send(self.tasks, list(task))

    def take(self) -> tuple[Sequence[int], list[Any] | None]:
        """What it was to do, and the answers; None where it died."""
        task, self.task = self.task, ()
        return task, _receive(self.answers)


class _Team:
    def __init__(self, work: Callable[[int], Any]) -> None:
        self._work = work
        self._workers: list[_Worker] = []

    @property
    def busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.task]

    def idle(self, most: int) -> _Worker | None:
        """A process with nothing to do: a new one where all have, as long as there may be more."""
        for worker in self._workers:
            if not worker.task:
                return worker
        if len(self._workers) < most:
            self._workers.append(self._started())
            return self._workers[-1]
        return None

    def ready(self) -> list[_Worker]:
        """Waits until processes have answered, or died."""
        import select

        poll = select.poll()
        by_answers = {worker.answers: worker for worker in self.busy}
        for descriptor in by_answers:
            poll.register(descriptor, select.POLLIN)
        return [by_answers[descriptor] for descriptor, _ in poll.poll()]

    def bury(self, worker: _Worker) -> Died:
        self._workers.remove(worker)
        os.close(worker.tasks)
        os.close(worker.answers)
        _, status = os.waitpid(worker.pid, 0)
        return Died(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)

    def end(self) -> None:
        import signal

        for worker in self._workers:
            os.kill(worker.pid, signal.SIGKILL)  # it holds nothing that would be lost
        for worker in list(self._workers):
            self.bury(worker)

    def _started(self) -> _Worker:
        tasks_end, tasks = os.pipe()
        answers, answers_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            # Those of the others too: a process whose task pipe someone else holds open would
            # outlive us.
            for other in self._workers:
                os.close(other.tasks)
                os.close(other.answers)
            os.close(tasks)
            os.close(answers)
            _serve(self._work, tasks_end, answers_end)
        os.close(tasks_end)
        os.close(answers_end)
        return _Worker(pid, tasks, answers)


def _serve(work: Callable[[int], Any], tasks: int, answers: int) -> NoReturn:
    """What a process does all its life. It leaves nothing of ours behind: no exit handlers."""
    import signal

    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends us
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while (task := _receive(tasks)) is not None:
            _send(answers, [work(item) for item in task])
        os._exit(0)
    finally:
        os._exit(1)


def _send(descriptor: int, message: list[Any]) -> None:
    data = marshal.dumps(message)
    data = len(data).to_bytes(_HEAD, "little") + data
    while data:
        data = data[os.write(descriptor, data) :]


def _receive(descriptor: int) -> list[Any] | None:
    """The next message; None where the other side is gone."""
    head = _exactly(descriptor, _HEAD)
    body = head and _exactly(descriptor, int.from_bytes(head, "little"))
    # Between us and our own child, the same program: not the foreign data that marshal is not for.
    return None if body is None else list(marshal.loads(body))


def _exactly(descriptor: int, size: int) -> bytes | None:
    parts = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _threaded() -> bool:
    """A process with threads must not fork: the copy has their locks, and not the threads."""
    threading = sys.modules.get("threading")
    return threading is not None and threading.active_count() > 1
