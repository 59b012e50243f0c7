"""Starts processes in the way that its first argument names, with a class of its own."""

import multiprocessing
import os
import sys


class Thing:
    """Pickled as `__main__.Thing`."""

    def __init__(self, value: int) -> None:
        self.value = value


def twice(thing: Thing) -> Thing:
    return Thing(thing.value * 2)


print("imported as", __name__, "in a child" * bool(multiprocessing.parent_process()), flush=True)
if __name__ == "__main__":
    how = sys.argv[1]
    if how == "os_fork":
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            print("the child")
            sys.exit(3)
        print("the parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    else:
        with multiprocessing.get_context(how).Pool(1) as pool:
            print([thing.value for thing in pool.map(twice, map(Thing, range(3)))])
