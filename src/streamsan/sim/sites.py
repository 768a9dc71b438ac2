"""Where in the program a call was made: the innermost frame outside streamsan, and who called it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

from msgspec.structs import replace

from streamsan.python_program.call_text import PythonSources
from streamsan.trace.builder import TraceBuilder
from streamsan.trace.site import Site

PACKAGE = os.path.join(str(Path(__file__).resolve().parents[1]), "")
MOST_CALLERS = 12
"""Frames that are kept of a chain of calls, innermost first."""
MOST_TEXT = 200
"""characters of a site's text"""
STANDARD_LIBRARY = os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "")
_RUNS_PROGRAMS = re.compile(r"[/\\\\](_pytest|pluggy|pytest)[/\\\\]")

_Key = tuple[int, ...]


class CallSites:
    """Turns the running Python frames into site ids. The same call in the same chain of callers has the same id."""

    def __init__(self, builder: TraceBuilder, sources: PythonSources) -> None:
        self._builder = builder
        self._sources = sources
        self._known: dict[_Key, int] = {}
        self._labelled: dict[tuple[int, str], int] = {}
        self._codes: dict[int, CodeType] = {}
        """code objects of the keys: an id must not be given to another one"""
        self._ours: dict[int, bool] = {}
        self._ends: set[int] = set()
        """code that runs programs or tests: a chain of callers ends there"""
        try:
            self._folder = os.path.join(os.getcwd(), "")
        except OSError:  # the folder is gone: paths stay as they are
            self._folder = ""
        self.watch: Callable[[int, Sequence[FrameType]], None] | None = None
        """called with each site and its frames, innermost first"""

    def here(self) -> int:
        """Return the site of the call that the program is making. 0 when no frame of the program is running."""
        frame = self._outside(sys._getframe(1))
        key: list[int] = []
        chain: list[FrameType] = []
        while frame is not None and len(chain) < MOST_CALLERS:
            code = frame.f_code
            if not self._is_ours(code):
                if id(code) in self._ends:
                    break
                key += (id(code), frame.f_lasti)
                chain.append(frame)
            frame = frame.f_back
        found = self._known.get(tuple(key))
        site = self._new(tuple(key), chain) if found is None else found
        if self.watch is not None:
            self.watch(site, chain)
        return site

    def labelled(self, site: int, label: str) -> int:
        """Return the same site with a label."""
        key = (site, label)
        found = self._labelled.get(key)
        if found is None:
            found = self._builder.site(replace(self._builder.site_at(site), label=label))
            self._labelled[key] = found
        return found

    def _outside(self, frame: FrameType | None) -> FrameType | None:
        while frame is not None and self._is_ours(frame.f_code):
            frame = frame.f_back
        return frame

    def _is_ours(self, code: CodeType) -> bool:
        """Return whether a frame is streamsan's own, or the machinery that runs scripts and threads."""
        found = self._ours.get(id(code))
        if found is None:
            name = code.co_filename
            if _RUNS_PROGRAMS.search(name) or (name == "<string>" and code.co_names[-1:] == ("main",)):
                self._ends.add(id(code))
            found = name.startswith(PACKAGE) or name.startswith("<frozen ") or _is_machinery(name)
            self._codes[id(code)] = code
            self._ours[id(code)] = found
        return found

    def _new(self, key: _Key, chain: list[FrameType]) -> int:
        number = 0
        for frame in reversed(chain):
            self._codes[id(frame.f_code)] = frame.f_code
            number = self._builder.site(self._site(frame, number))
        self._known[key] = number
        return number

    def _site(self, frame: FrameType, caller: int) -> Site:
        code = frame.f_code
        line, end_line, column, end_column = _position(code, frame.f_lasti)
        line = line or frame.f_lineno or 0
        file = code.co_filename
        start, end = (0, 0) if column is None or end_column is None else (column, end_column)
        known = self._sources.call(file, line, start, end_line or line, end)
        function = code.co_qualname if code.co_name != "<module>" else ""
        return Site(
            file.removeprefix(self._folder),
            line,
            known.column,
            end_line or line,
            known.end_column,
            function.replace(".<locals>", ""),
            known.text[:MOST_TEXT],
            known.target,
            caller,
        )


def _is_machinery(name: str) -> bool:
    if not name.startswith(STANDARD_LIBRARY):
        return False
    rest = name[len(STANDARD_LIBRARY) :]
    return "site-packages" not in rest and "dist-packages" not in rest


def _position(code: CodeType, lasti: int) -> tuple[int | None, int | None, int | None, int | None]:
    """Return line, end line, column, end column (bytes from 0) of the instruction at an offset."""
    return next(islice(code.co_positions(), lasti // 2, None), (None, None, None, None))
