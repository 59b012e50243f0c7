"""Python imports this when it starts, if it was started by a program that `gradledger run` audits.

The folder stands first on its PYTHONPATH. All traces of that are removed here, and the
`sitecustomize` that Python would have found without us is imported in its place. Any Python may
come along: what this file says has to be understood by all of them.
"""

# mypy: ignore-errors

import os
import sys


def _withdraw():  # noqa: ANN202
    """Nothing in `sys.path`, nor on the PYTHONPATH that the program sees."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path != here]
    sys.path_importer_cache.pop(here, None)
    sys.modules.pop("sitecustomize", None)
    door = sys.modules.pop("_gradledger_door", None)
    if door is not None:  # by the name that gradledger knows it by
        sys.modules["gradledger.runtime.children.door._gradledger_door"] = door
    first, _, rest = os.environ.get("PYTHONPATH", "").partition(os.pathsep)
    if first == here:
        if rest:
            os.environ["PYTHONPATH"] = rest
        else:
            del os.environ["PYTHONPATH"]


_enter = None
if sys.version_info >= (3, 8):  # noqa: UP036
    try:
        from _gradledger_door import enter as _enter
    except Exception:  # the program runs all the same
        _enter = None
_withdraw()
if _enter is not None:
    _enter()
# The program's own, which is in our place from now on; where there is none, Python finds none.
import sitecustomize  # noqa: E402, F401
