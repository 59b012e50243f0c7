"""Work is spread by forking, which a process with threads must not do: so each test has its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from gradledger.static.runner.processes import available

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no other way to spread")

START = """
import os, signal, sys
from gradledger.static.runner.processes import Died, spread
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", START + textwrap.dedent(program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def said(program: str) -> str:
    done = run(program)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.strip()


def test_every_item_is_done_once_and_by_several() -> None:
    assert said("""
        def work(n):
            return [n * n, os.getpid(), "x" * n]
        found = dict(spread(range(2000), work, jobs=3, at_once=7))
        assert sorted(found) == list(range(2000))
        assert all(square == n * n and len(text) == n for n, (square, _, text) in found.items())
        pids = {pid for _, pid, _ in found.values()}
        assert os.getpid() not in pids
        print(len(pids))
    """) in ("1", "2", "3")


def test_what_weighs_most_is_begun_first() -> None:
    assert (
        said("""
        weights = [1, 1, 5, 5, 1, 9, 2, 2, 3]
        found = spread(range(9), lambda n: n, jobs=1, at_once=2, weigh=weights.__getitem__)
        print([n for n, _ in found])
    """)
        == "[5, 3, 4, 2, 6, 7, 8, 0, 1]"
    )


def test_what_weighs_much_goes_alone() -> None:
    assert (
        said("""
        tasks = []
        def work(n):
            tasks.append(n)
            return len(tasks)
        weights = [1, 1, 1, 90, 1, 1, 1, 1]
        found = spread(range(8), work, jobs=8, at_once=4, weigh=weights.__getitem__)
        print(sorted(found))
    """)
        == "[(0, 1), (1, 2), (2, 3), (3, 1), (4, 1), (5, 2), (6, 3), (7, 4)]"
    )


def test_what_weighs_nothing_is_done_too() -> None:
    assert (
        said("""
        found = spread(range(3), lambda n: n, jobs=1, at_once=2, weigh=lambda n: 0)
        print([n for n, _ in found])
    """)
        == "[0, 1, 2]"
    )


def test_what_weighs_the_same_is_done_in_order() -> None:
    assert said("print([n for n, _ in spread(range(7), lambda n: n, jobs=1, at_once=2)])") == (
        "[0, 1, 2, 3, 4, 5, 6]"
    )


def test_the_process_that_dies_takes_one_item_with_it() -> None:
    assert (
        said("""
        def work(n):
            if n == 50:
                os.kill(os.getpid(), signal.SIGKILL)
            if n == 70:
                os._exit(3)
            if n == 90:
                sys.stderr.close()
                raise RuntimeError("a bug of ours")
            return n
        found = dict(spread(range(200), work, jobs=2, at_once=9))
        lost = {n: answer for n, answer in found.items() if isinstance(answer, Died)}
        assert len(found) == 200 and all(found[n] == n for n in found.keys() - lost.keys())
        print(sorted((n, died.signal) for n, died in lost.items()))
    """)
        == "[(50, 9), (70, 0), (90, 0)]"
    )


def test_where_all_die_all_are_told() -> None:
    assert (
        said("""
        def work(n):
            os.kill(os.getpid(), signal.SIGSEGV)
        found = list(spread(range(20), work, jobs=2, at_once=4))
        print(len(found), {answer for _, answer in found})
    """)
        == "20 {Died(signal=11)}"
    )


def test_large_answers_do_not_get_stuck() -> None:
    assert (
        said("""
        found = dict(spread(range(8), lambda n: "x" * 3_000_000, jobs=2, at_once=4))
        print(sum(map(len, found.values())))
    """)
        == "24000000"
    )


@pytest.mark.parametrize("ending", ["answers.close()", "raise KeyboardInterrupt", "1 / 0"])
def test_when_it_is_ended_no_process_is_left(ending: str) -> None:
    assert (
        said(f"""
        import time
        def work(n):
            if n:
                time.sleep(1000)
            return os.getpid()
        answers = spread(range(4), work, jobs=3, at_once=1)
        next(answers)
        try:
            {ending}
        except BaseException:
            answers.close()
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            print("none")
    """)
        == "none"
    )


def test_an_interrupt_ends_all_at_once() -> None:
    program = START + textwrap.dedent("""
        import time
        def work(n):
            print("working", flush=True)
            time.sleep(1000)
        for _ in spread(range(4), work, jobs=2, at_once=1):
            pass
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        try:
            _, errors = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # they would sleep beside the next tests
            raise
    assert errors.count("KeyboardInterrupt") == 1


def test_processes_do_not_outlive_a_parent_that_is_killed() -> None:
    program = START + textwrap.dedent("""
        def work(n):
            if n == 3:
                os.kill(os.getppid(), signal.SIGKILL)
            return n
        list(spread(range(9), work, jobs=3, at_once=1))
    """)
    # The pipe ends when the last process that holds it has ended: all of them.
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=30, check=False
    )
    assert done.returncode == -signal.SIGKILL


def test_a_process_with_threads_works_alone() -> None:
    ending = threading.Event()
    thread = threading.Thread(target=ending.wait)
    thread.start()
    try:
        assert available(8) == 1
    finally:
        ending.set()
        thread.join()


def test_as_many_as_there_are_processors() -> None:
    module = "gradledger.static.runner.processes"
    wanted = f"from {module} import available; print(available(), available(7))"
    found, asked = said(wanted).split()
    assert int(found) == len(os.sched_getaffinity(0))
    assert asked == "7"
