"""Links that open the playground."""

from __future__ import annotations

PAGE = "playground"


def try_it(name: str, *, depth: int) -> str:
    """One that opens it with an example. `depth`: folders between its page and the root."""
    address = f"{'../' * depth}{PAGE}.html#try={name}"
    return f'<p class="try-it"><a href="{address}">Try it in the playground</a></p>'
