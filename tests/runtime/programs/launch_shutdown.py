"""Everything that Python does after the last line, in the order in which it does it."""

import atexit
import sys
import threading
import weakref


class Tidy:
    """Says when it is let go."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __del__(self) -> None:
        print("let go:", self.name)


def work() -> None:
    threading.main_thread().join()
    print("thread works on after main")


def last_words() -> None:
    print("atexit, registered last, and it can still start threads:", threading.active_count())


def fail_at_exit() -> None:
    raise ValueError("in an exit function")


def main() -> None:
    local = Tidy("local of a frame that sys.exit leaves")
    threading.Thread(target=work).start()
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    print("main ends with", local.name)
    sys.exit(int(sys.argv[1]))


held = Tidy("global")
atexit.register(print, "atexit, registered first")
weakref.finalize(held, print, "finalized")
atexit.register(fail_at_exit)
atexit.register(last_words)
main()
