"""What reading a CUDA source file gives."""

from __future__ import annotations

from msgspec import Struct, field

from streamsan.cuda_syntax.files_seen import FilesSeen
from streamsan.cuda_syntax.tree import Problem, Span, Unit
from streamsan.findings.reading_gaps import NotReached
from streamsan.trace.trace import Trace


class World(Struct, frozen=True):
    """One path of one entry."""

    entry: str
    """the function's name; "" for the statements of a fragment"""
    decisions: tuple[bool, ...]
    """how the undecided branches went, in order"""
    either_way: frozenset[int]
    """which of them say whether work was done when the program asked, or throw what it catches in a loop and goes on
    from: what follows in this world is possible in every run"""
    contrary: bool
    """it went against a condition that the reader takes for known, where nothing else led to what comes after it"""
    trace: Trace
    truncated: bool
    """a budget ended the path, or left paths of this entry unexplored"""


class Reading(Struct):
    """All worlds of one source file."""

    units: tuple[Unit, ...] = ()
    """the trees that were read, that of the named file first"""
    worlds: list[World] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """path -> text of every file that was read, for source excerpts"""
    foreign: frozenset[str] = frozenset()
    """those of `files` that are headers of a system's folder"""
    problems: list[Problem] = field(default_factory=list)
    """what the syntax reader could not follow"""
    missing_includes: list[Problem] = field(default_factory=list)
    """those of `problems` that are headers that were not found"""
    stopped: bool = False
    """a budget ended a path or left entries out, or the text could not be read to its end"""
    without_functions: bool = False
    """the text looks as if it had functions, and none was understood"""
    unread_macros: list[Problem] = field(default_factory=list)
    """invocations of macros outside functions that hold a word of CUDA, and that were not followed"""
    reached: frozenset[Span] = frozenset()
    """calls of CUDA in host code that some path came to; none of a system's headers"""
    missed: dict[Span, NotReached] = field(default_factory=dict)
    """those that no path came to; branches of failures are left out on purpose, and do not count"""
    seen: FilesSeen = field(default_factory=FilesSeen)
    """what of the file system the reading depends on"""
