"""Prints all that a program can see of how it was started."""

import inspect
import os
import signal
import sys
import warnings

import __main__

for name, value in list(globals().items())[:9]:
    if name == "__loader__":
        value = type(value).__name__, value.name, getattr(value, "path", None)
    elif name == "__spec__" and value is not None:
        value = value.name, value.origin, value.parent
    print(name, value)


class Thing:
    """Has a source."""


print(sys.argv, type(sys.argv).__name__)
print(sys.path, os.getcwd())
print(sys.flags, sys.executable, sys.getrecursionlimit(), __debug__)
print(sys.modules["__main__"] is __main__, vars(__main__) is globals(), Thing.__module__)
print(inspect.getsource(Thing), inspect.getfile(Thing))
print([filter_[:1] + filter_[2:] for filter_ in warnings.filters])
print(sys.excepthook is sys.__excepthook__, sys.stdout is sys.__stdout__, sys.gettrace())
print([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)])
print(sorted(name for name in os.environ if "LEDGER" in name.upper()))
print("torch" in sys.modules, "numpy" in sys.modules)
print(sys.stdin.read())
warnings.warn("old", DeprecationWarning, stacklevel=1)
# An annotation is evaluated here: nothing of our `from __future__` reaches the program.
n: int = 1
print(__annotations__)
