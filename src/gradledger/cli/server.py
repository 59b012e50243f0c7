"""Serve editors: findings while you type, what they mean, and fixes (language server protocol).

An editor starts it and talks to it by standard input and output; editors/README.md has the lines
for VS Code, Neovim, Helix, Emacs and PyCharm. Options are those of the nearest pyproject.toml,
[tool.gradledger], as for `gradledger check`. It needs no torch.
"""

from __future__ import annotations

import argparse

from gradledger.errors import MissingExtraError

INSTALL = "pip install 'gradledger[lsp]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gradledger server`."""
    # Some clients add it to every server; there is no other way to talk.
    parser.add_argument("--stdio", action="store_true", help="accepted, and the default")


def run(args: argparse.Namespace) -> int:
    """Serves until the editor leaves."""
    try:
        import pygls  # noqa: F401 - so that what is missing is not taken for a bug of ours
    except ImportError:
        raise MissingExtraError(
            f"gradledger server needs pygls, which is not installed here: {INSTALL}", name="pygls"
        ) from None
    from gradledger.server.serve import serve

    serve()
    return 0
