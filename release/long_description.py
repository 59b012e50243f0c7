"""The README as a package index shows it, where links into the repository lead nowhere."""

from __future__ import annotations

import re

_PICTURE = re.compile(r"<picture>.*?<img alt=\"(.*?)\" src=\"(.*?)\">.*?</picture>", re.DOTALL)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?![a-z]+:|#)([^)\s]+)\)")


def described(readme: str, address: str, tag: str) -> str:
    """Links and pictures made absolute, at `tag`; without an address, their text alone."""

    def picture(found: re.Match[str]) -> str:
        alt, path = found.groups()
        return f"![{alt}]({address}/raw/{tag}/{path})" if address else f"*{alt}.*"

    def link(found: re.Match[str]) -> str:
        text, path = found.groups()
        return f"[{text}]({address}/blob/{tag}/{path})" if address else text

    parts = re.split(r"(^```.*?^```$)", _PICTURE.sub(picture, readme), flags=re.M | re.S)
    # Every second part is a block of code, which is left as it is.
    return "".join(
        part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts)
    )
