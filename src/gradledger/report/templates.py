"""HTML is written by Jinja2: all that comes from a program is escaped."""

from __future__ import annotations

import os
from functools import cache

import jinja2


@cache
def template(package: str, name: str) -> jinja2.Template:
    """A file in `templates`, beside this file of the package that asks for it."""
    surroundings = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FileSystemLoader(os.path.join(os.path.dirname(package), "templates")),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return surroundings.get_template(name)
