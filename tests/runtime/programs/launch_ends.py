"""Ends in the way that its first argument names."""

import os
import signal
import sys
import threading
from typing import NoReturn


class Odd(SystemExit):
    """An exit of one's own."""


def nested(depth: int, code: object) -> NoReturn:
    if depth:
        nested(depth - 1, code)
    sys.exit(code)  # type: ignore[arg-type]


def crash() -> None:
    try:
        print(1 / 0)
    except ZeroDivisionError as error:
        raise RuntimeError("no further") from error


def failing_hook(*_: object) -> None:
    raise ValueError("the hook failed")


def telling_hook(kind: type[BaseException], error: BaseException, trace: object) -> None:
    names = []
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)  # type: ignore[attr-defined]
        trace = trace.tb_next  # type: ignore[attr-defined]
    print("hook", kind, error, names, sys.last_value is error)
    print(error.__traceback__ is sys.last_traceback)


def exiting_hook(*_: object) -> None:
    sys.exit(7)


def end(how: str) -> None:
    match how:
        case "none" | "str" | "zero" | "three" | "minus" | "wrapped" | "list":
            codes = {"str": "in words", "zero": 0, "three": 3, "minus": -1, "wrapped": 256}
            nested(5, ["a list"] if how == "list" else codes.get(how))
        case "odd":
            raise Odd(4)
        case "os_exit":
            sys.stdout.write("not flushed")
            os._exit(5)
        case "crash":
            crash()
        case "base":
            raise BaseException("of no kind")
        case "broken_pipe":
            raise BrokenPipeError(32, "its own")
        case "telling_hook" | "failing_hook" | "exiting_hook":
            sys.excepthook = globals()[how]
            crash()
        case "ctrl_c":
            os.kill(os.getpid(), signal.SIGINT)
        case "terminated":
            os.kill(os.getpid(), signal.SIGTERM)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "handled_ctrl_c":
            signal.signal(signal.SIGINT, lambda *_: sys.exit(9))
            os.kill(os.getpid(), signal.SIGINT)
        case "thread_exit":
            thread = threading.Thread(target=sys.exit, args=(3,))
            thread.start()
            thread.join()
        case "thread_crash":
            thread = threading.Thread(target=crash, name="worker")
            thread.start()
            thread.join()
        case "deleted_main":
            del sys.modules["__main__"]
        case "normal":
            pass
        case _:
            raise AssertionError(how)


print("begins", flush=True)
end(sys.argv[1])
print("ends")
