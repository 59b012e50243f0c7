"""What is written can be read: contrast as WCAG 2 asks for text (4.5 to 1), in both themes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSS = (Path(__file__).parents[3] / "web" / "src" / "style.css").read_text(encoding="utf-8")
COLOURS = {
    name: {"light": light, "dark": dark}
    for name, light, dark in re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", CSS)
}
WRITTEN = {
    "paper": ("ink", "soft", "accent", "error", "warning", "info"),
    "code": ("ink", "comment", "keyword", "string", "number", "function"),
    "here": ("ink", "error", "warning", "info", "comment", "keyword", "string", "number"),
    "added": ("ink", "keyword", "string", "number", "function"),
    "gone": ("ink", "keyword", "string", "number", "function"),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_its_ground(theme: str) -> None:
    faint = {
        (ink, ground): contrast(COLOURS[ink][theme], COLOURS[ground][theme])
        for ground, inks in WRITTEN.items()
        for ink in inks
        if contrast(COLOURS[ink][theme], COLOURS[ground][theme]) < 4.5
    }
    assert faint == {}


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    r, g, b = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
