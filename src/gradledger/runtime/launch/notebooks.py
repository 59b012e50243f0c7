"""Runs a notebook as `gradledger run` runs a script: its cells, in a kernel of this Python.

The kernel is a process that the program starts, and audited like all of these. Its cells are told
as `gradledger check` tells them: `train.ipynb:cell 3`, counted over all cells of the notebook.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from gradledger.runtime.launch.scripts import TargetError

INSTALL = "pip install 'gradledger[notebook]'"
_NEEDED = ("nbclient", "nbformat", "ipykernel")
_PATIENCE = 60.0
"""Seconds for the kernel to end: it closes the books."""
_FORGET = """\
import sys
for name in ("last_exc", "last_type", "last_value", "last_traceback"):
    vars(sys).pop(name, None)
"""
"""An error that the notebook expects, as some cells say, is not what it ends with."""


def check(path: str, arguments: Sequence[str]) -> None:
    """Raises TargetError, in one sentence, where this notebook can't be run."""
    if arguments:
        raise TargetError(
            f"{path} is a notebook, which takes no arguments: {' '.join(arguments)!r} can't be "
            "given to it."
        )
    language = _language(_loaded(path), path)
    if "python" not in language.lower():
        raise TargetError(f"{path} is a notebook for {language}, and gradledger audits Python.")
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise TargetError(f"to run {path}, {' and '.join(missing)} must be installed: {INSTALL}")


def _loaded(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            notebook = json.loads(file.read())
    except OSError as error:
        raise TargetError(f"{path} can't be read: {error.strerror}.") from None
    except json.JSONDecodeError as error:
        raise TargetError(
            f"{path} isn't a notebook: line {error.lineno} isn't JSON, {error.msg}."
        ) from None
    except (UnicodeDecodeError, RecursionError):
        raise TargetError(f"{path} isn't a notebook: it isn't JSON.") from None
    if said := _unfit(notebook):
        raise TargetError(f"{path} can't be run: {said}.")
    return dict(notebook)


def _unfit(notebook: object) -> str:
    """Why this JSON is no notebook whose cells can be run; empty if it is one."""
    if isinstance(notebook, dict) and "worksheets" in notebook:
        return "it is of nbformat 3: open and save it in Jupyter"
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not isinstance(notebook, dict):
        return "it has no cells"
    if not all(isinstance(cell, dict) for cell in cells):
        return "its cells are no JSON objects"
    if not isinstance(notebook.get("nbformat"), int):
        return "it doesn't say which nbformat it is of"
    return ""


def _language(notebook: dict[str, Any], path: str) -> str:
    metadata = notebook.get("metadata")
    for part, name in (("language_info", "name"), ("kernelspec", "language")):
        told = metadata.get(part) if isinstance(metadata, dict) else None
        if isinstance(told, dict) and isinstance(language := told.get(name), str):
            return language
    return "python"


def execute(path: str) -> None:
    """Run all cells. What they print is printed; the first that fails ends it with status 1."""
    import nbformat
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    try:
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except Exception as error:
        why = str(error).partition("\n")[0]
        print(f"gradledger: {path} isn't a valid notebook: {why}", file=sys.stderr)
        sys.exit(1)
    client = _client(notebook)
    try:
        with client.setup_kernel(cwd=os.path.dirname(path) or ".", cleanup_kc=True):
            _silently(client, _introduction(path, notebook))
            for index, cell in enumerate(notebook.cells):
                client.execute_cell(cell, index)
            _silently(client, _FORGET)
    except CellExecutionError as error:
        print(_plain(error.traceback), file=sys.stderr)
        sys.exit(1)
    except DeadKernelError:
        print(f"gradledger: the kernel of {path} died.", file=sys.stderr)
        sys.exit(1)


def _introduction(path: str, notebook: Any) -> str:
    """Tells the kernel which cell of the notebook each of those is that it will run."""
    runs = [
        number
        for number, cell in enumerate(notebook.cells, start=1)
        if cell.cell_type == "code"
        and cell.source.strip()
        and "skip-execution" not in cell.metadata.get("tags", [])
    ]
    return (
        "from gradledger.runtime.program.notebook_cells import Running\n"
        f"Running.file, Running.cells = {path!r}, {runs!r}\n"
        "del Running\n"
    )


def _silently(client: Any, code: str) -> None:
    """Neither counted nor kept in the history."""
    client.wait_for_reply(client.kc.execute(code, silent=True, store_history=False))


def _client(notebook: Any) -> Any:
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    class Client(NotebookClient):
        """Prints what cells print, when they do."""

        def output(self, outs: Any, msg: Any, display_id: Any, cell_index: int) -> Any:
            _print(msg)
            return super().output(outs, msg, display_id, cell_index)

    manager = AsyncKernelManager(shutdown_wait_time=_PATIENCE)
    # This very Python, whichever kernel the notebook was written with: that one may have no
    # gradledger.
    manager._kernel_spec = KernelSpec(
        argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        language="python",
        display_name="Python",
    )
    # A kernel is interrupted before it is shut down, and calls that an error. What cells raise
    # comes as their output, not by this log.
    return Client(notebook, km=manager, timeout=None, extra_arguments=["--log-level=CRITICAL"])


def _print(message: dict[str, Any]) -> None:
    content = message["content"]
    if message["msg_type"] == "stream":
        stream = sys.stderr if content["name"] == "stderr" else sys.stdout
        print(content["text"], end="", file=stream, flush=True)
    elif text := content.get("data", {}).get("text/plain"):
        print(text, flush=True)


def _plain(text: str) -> str:
    """As it is in a terminal, and without colours elsewhere."""
    import re

    return text if sys.stderr.isatty() else re.sub(r"\x1b\[[0-9;]*m", "", text)
