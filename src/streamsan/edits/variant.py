"""One way to write a step as text."""

from __future__ import annotations

from msgspec import Struct

from streamsan.findings.finding import Edit


class Variant(Struct, frozen=True):
    """One way to write a step: what to say of it, and the edits."""

    summary: str
    edits: tuple[Edit, ...]
    removed: int = 0
    """calls that are taken out"""
    declares: str = ""
    """a variable that the edits declare in a scope of the program, "" for none"""
