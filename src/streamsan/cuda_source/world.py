"""What reading a CUDA source file gives."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamsan.cuda_syntax.tree import Problem
from streamsan.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class World:
    """One path of one entry."""

    entry: str
    """the function's name; "" for the statements of a fragment"""
    decisions: tuple[bool, ...]
    """how the undecided branches went, in order"""
    trace: Trace
    truncated: bool
    """a budget ended the path, or left paths of this entry unexplored"""


@dataclass(slots=True)
class Reading:
    """All worlds of one source file."""

    worlds: list[World] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """path -> text of every file that was read, for source excerpts"""
    problems: list[Problem] = field(default_factory=list)
    """what the syntax reader could not follow"""
