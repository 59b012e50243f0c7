"""Gets SIGTERM in the circumstances that its first argument names."""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from types import FrameType

import torch  # noqa: F401, from when on there is an auditor


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def say(number: int, frame: FrameType | None) -> None:
    print("handled", signal.Signals(number).name, flush=True)


async def in_a_loop() -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, print)
    terminate()


def end(how: str) -> None:
    match how:
        case "plain":
            terminate()
        case "looked for":
            print(signal.getsignal(signal.SIGTERM), threading.active_count())
            print(signal.signal(signal.SIGTERM, say))
            terminate()
            print(signal.signal(signal.SIGTERM, signal.SIG_DFL) is say)
            print(signal.getsignal(signal.SIGTERM), flush=True)
            terminate()
        case "ignored":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            terminate()
        case "handled":
            signal.signal(signal.SIGTERM, say)
            terminate()
        case "left by the handler":
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
            terminate()
        case "in an event loop":
            asyncio.run(in_a_loop())
        case "in a child":
            child = multiprocessing.get_context("fork").Process(target=terminate)
            child.start()
            child.join()
            print(child.exitcode)
        case _:
            raise AssertionError(how)


print("begins", flush=True)
end(sys.argv[1])
print("ends")
