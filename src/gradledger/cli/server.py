"""Start the language server: findings, explanations and fixes in editors while you type.

The editor starts the server and talks to it over standard input and output. editors/README.md shows
how to set up VS Code, Neovim, Helix, Emacs and PyCharm. [tool.gradledger] in the nearest
pyproject.toml configures it, as for `gradledger check`. PyTorch isn't needed.
"""

from __future__ import annotations

import argparse

from gradledger.errors import MissingExtraError

INSTALL = "pip install 'gradledger[lsp]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gradledger server`."""
    # Some clients pass it to every server; standard input and output are the only way anyway.
    parser.add_argument("--stdio", action="store_true", help="the default; some editors pass it")


def run(args: argparse.Namespace) -> int:
    """Serves until the editor disconnects."""
    try:  # so that what is missing is not taken for a bug of ours
        import pygls
    except ImportError:
        raise MissingExtraError(
            f"gradledger server needs pygls, which is not installed here: {INSTALL}", name="pygls"
        ) from None
    try:
        import pygls.lsp.server  # noqa: F401 - new in pygls 2
    except ImportError:
        raise MissingExtraError(
            f"gradledger server needs pygls 2 or newer, and an older one is installed: {INSTALL}",
            name="pygls",
        ) from None
    from gradledger.server.serve import serve

    serve()
    return 0
