"""Our own sentences as HTML: text in backticks is code."""

from __future__ import annotations

from markupsafe import Markup, escape


def prose(text: str) -> Markup:
    """Escaped, with `code` as code."""
    parts = (
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(text.split("`"))
    )
    return Markup("").join(parts)
