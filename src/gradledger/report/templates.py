"""Loads Jinja2 templates, which escape everything that comes from a program."""

from __future__ import annotations

import os
from functools import cache

import jinja2


@cache
def template(package: str, name: str) -> jinja2.Template:
    """A file in the `templates` folder of the package that calls this."""
    surroundings = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FileSystemLoader(os.path.join(os.path.dirname(package), "templates")),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return surroundings.get_template(name)
