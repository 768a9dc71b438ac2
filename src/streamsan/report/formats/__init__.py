"""The formats of a report: a module each, found by listing. Its docstring's first line says what the format is for.

A module has `render(report, stream) -> str`: the whole report as text, for the stream that it will be written to. One
that has all findings, also notes that people are not shown, says so: HAS_HIDDEN_NOTES. One that draws runs: DRAWS.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from io import StringIO
from pkgutil import iter_modules
from typing import IO, cast

from streamsan.report import Report

Render = Callable[[Report, IO[str]], str]

FORMATS = ("text", *sorted(module.name for module in iter_modules(__path__) if module.name != "text"))
"""their names, the one for people first"""


def renderer(name: str) -> Render:
    """Return what lays out a report in this format. It is loaded when it is asked for: most runs need one of them."""
    return cast(Render, import_module(f"{__name__}.{name}").render)


def has_hidden_notes(name: str) -> bool:
    """Tell whether a format has all findings, also notes that people are not shown."""
    return bool(getattr(import_module(f"{__name__}.{name}"), "HAS_HIDDEN_NOTES", False))


def draws(name: str) -> bool:
    """Tell whether a format draws what happened: findings need scenes, and inputs their timelines."""
    return bool(getattr(import_module(f"{__name__}.{name}"), "DRAWS", False))


def render(report: Report, name: str = "text") -> str:
    """Return a report in a format, laid out for a file: no colours, no terminal's width. Raises ValueError."""
    if name not in FORMATS:
        raise ValueError(f"unknown format '{name}'; known are {', '.join(FORMATS)}")
    return renderer(name)(report, StringIO())
