"""How a stream may be written at a place of a Python program: in names that were its own when the call was made."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from streamsan.edits.code_place import Argument
from streamsan.edits.python.calls import EVENTS, STREAMS, may_be_repeated, parameter_of, written
from streamsan.edits.python.checks import api_of
from streamsan.edits.python.imports import defined_at_top
from streamsan.edits.python.module_text import PythonText
from streamsan.edits.python.places import Function, PythonPlace, find
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.order.facts import Operation
from streamsan.platforms import CUDA
from streamsan.python_program.visible_names import LOCAL, MOST_OF_CHAIN
from streamsan.vocabulary import OperationKind

STREAM, EVENT = "stream", "event"
TYPES = {STREAM: (STREAMS, "stream"), EVENT: (EVENTS, "object")}
"""kind of a handle -> the types of its parameters, and the field of a slot that has it"""
OF_EVENTS = (OperationKind.EVENT_RECORD, OperationKind.STREAM_WAIT_EVENT, OperationKind.EVENT_SYNCHRONIZE)
MOST_NAMES = 3
MOST_OF_ONE = 4
"""operations that one call is taken to make"""
Wanted = Sequence[tuple[int, int]]
"""rows at whose time a name is needed, each with the handle that it is to be"""
Chain = tuple[tuple[str, int, int], ...]
"""places of a chain of calls, innermost first"""
Frame = Sequence[Sequence[Any]]
"""[expression, kind, value] of each thing that a frame can name"""


class Chains:
    """The chains of calls that lead to the operations of a trace, innermost first, as places in the trees."""

    def __init__(self, trace: EditableTrace, texts: Mapping[str, PythonText]) -> None:
        self.trace = trace
        self.texts = texts
        self._places: dict[tuple[Chain, int], PythonPlace | None] = {}

    def places(self, site: int) -> list[PythonPlace | None]:
        """Return the place of a site and those of the calls that it is nested in; None for what has no place."""
        found: list[PythonPlace | None] = []
        level = 0
        while site:
            entry = self.trace.trace.site(site)
            key = ((entry.file, entry.line, entry.column), (entry.file, entry.end_line, entry.end_column))
            if (key, level) not in self._places:
                text = self.texts.get(entry.file)
                self._places[key, level] = find(text, entry, level) if text is not None else None
            found.append(self._places[key, level])
            site, level = entry.caller, level + 1
        return found

    def chain(self, site: int) -> Chain:
        """Return the places of a site's chain of calls."""
        places = []
        while site:
            entry = self.trace.trace.site(site)
            places.append((entry.file, entry.line, entry.column))
            site = entry.caller
        return tuple(places)

    def api(self, operation: Operation) -> str:
        """Return the name of the function that issued an operation."""
        row = self.trace.row(operation)
        return self.api_at(row) if row is not None else ""

    def api_at(self, row: int) -> str:
        """Return the name of the function that issued the operation of a row."""
        number = int(self.trace.slots["api"][row])
        apis = self.trace.trace.apis
        return apis[number] if 0 <= number < len(apis) else ""

    def api_at_site(self, site: int) -> str:
        """Return the name of the function that is called at a site, as its text has it."""
        place = next(iter(self.places(site)), None)
        return (api_of(place.node) or "") if place is not None else ""

    def streams(self, site: int, api: str) -> Iterator[Argument]:
        """Yield how the stream of an operation is written, at each level of its chain of calls."""
        return self.arguments(site, api, STREAMS)

    def arguments(self, site: int, api: str, types: Sequence[str]) -> Iterator[Argument]:
        """Yield how an operation's argument of one of these types is written, at each level of its chain of calls."""
        position = parameter_of(api, *types)
        if position is not None:
            yield from written(self.places(site), api, position)


class Names:
    """The names of streams at the places of one run."""

    def __init__(self, chains: Chains, looks: Sequence[Mapping[str, Any]]) -> None:
        self._chains = chains
        self._trace = chains.trace
        self._looks: dict[Chain, list[tuple[int, Sequence[Frame]]]] = {}
        for look in looks:
            chain = tuple((str(file), int(line), int(column)) for file, line, column in look["chain"])
            self._looks.setdefault(chain, []).append((int(look["sequence"]), look["frames"]))
        # Each process counts its calls itself, and has handles of its own.
        self._several_processes = len({each.process for each in self._trace.trace.threads}) > 1

    def frame(self, row: int, level: int) -> Frame | None:
        """Return what a frame could name when the operation of a row was issued."""
        looks = self._looks.get(self._chains.chain(int(self._trace.slots["site"][row])))
        if not looks:
            return None
        sequence = int(self._trace.slots["sequence"][row])
        before = [frames for number, frames in looks if number < sequence]
        frames = before[-1] if before else looks[0][1]
        return frames[level] if level < len(frames) else None

    def _is_fresh(self, row: int) -> bool:
        looks = self._looks.get(self._chains.chain(int(self._trace.slots["site"][row])), [])
        return len(looks) < MOST_OF_CHAIN or int(self._trace.slots["sequence"][row]) <= looks[-1][0] + MOST_OF_ONE

    def modules(self, row: int, level: int) -> dict[str, list[str]]:
        """Return the names of the modules of cuda.bindings: `{"runtime": ["cudart"]}`."""
        found: dict[str, list[str]] = {"runtime": [], "driver": []}
        for text, kind, _ in self.frame(row, level) or ():
            if str(kind).startswith("module of "):
                found[str(kind).removeprefix("module of ")].append(str(text))
        return found

    def of(self, wanted: Wanted, place: PythonPlace, own: Operation | None = None, kind: str = STREAM) -> list[str]:
        """Return how a stream (or an event: `kind`) may be written at a place, best first.

        `own`: an operation of the place's chain that runs on that stream: as its own calls write it comes first.
        """
        if not wanted:
            return []
        # Of loops only the first rounds were looked at.
        wanted = [each for each in wanted if self._is_fresh(each[0])] or wanted
        seen = [self._seen(row, place.level, handle, kind) for row, handle in wanted]
        every = set.intersection(*(set(each) for each in seen))
        known = {str(text) for row, _ in wanted for text, *_ in self.frame(row, place.level) or ()}
        texts: list[str] = []
        for text in self._written_there(wanted, place, own, kind):
            # What could be looked at is the stream, or it is another one.
            if text not in texts and (text in every or (text not in known and self._is_bound(text, wanted, place))):
                texts.append(text)
        texts += sorted((text for text in every if text not in texts), key=lambda text: _cost(text, seen[0]))
        if not texts and kind == STREAM:
            texts += [text for text in {_default(stream) for _, stream in wanted} if text]
        return texts[:MOST_NAMES]

    def _seen(self, row: int, level: int, handle: int, wanted: str) -> dict[str, str]:
        """Return the expressions of a frame that are a handle, each with its kind."""
        frames = [self.frame(row, level) or ()]
        if self._several_processes:
            looks = self._looks.get(self._chains.chain(int(self._trace.slots["site"][row])), [])
            frames = [frames[level] for _, frames in looks if level < len(frames)]
        return {
            str(text): str(kind)
            for frame in frames
            for text, kind, value in frame
            if kind in (wanted, "int") and value == handle
        }

    def _is_bound(self, text: str, wanted: Wanted, place: PythonPlace) -> bool:
        """Tell whether the variable that an expression begins with has a value at a place."""
        roots = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
        if not isinstance(place.body, Function):
            return True
        frame = self.frame(wanted[0][0], place.level)
        local = {str(name) for name, kind, _ in frame or () if kind == LOCAL}
        return all(root in local or root in vars(builtins) or defined_at_top(place.text.tree, root) for root in roots)

    def _written_there(self, wanted: Wanted, place: PythonPlace, own: Operation | None, kind: str) -> Iterator[str]:
        types, field = TYPES[kind]
        if own is not None:
            yield from self._texts(self._chains.arguments(own.site, self._chains.api(own), types), place)
            return
        slots = self._trace.slots
        same = self._trace.starts & np.isin(slots[field], np.array([handle for _, handle in wanted], np.uint64))
        if kind == EVENT:
            same &= np.isin(slots["kind"], OF_EVENTS)
        done: set[int] = set()
        for row in np.flatnonzero(same).tolist():
            site = int(slots["site"][row])
            if site and site not in done:
                done.add(site)
                yield from self._texts(self._chains.arguments(site, self._chains.api_at(row), types), place)

    @staticmethod
    def _texts(found: Iterator[Argument], place: PythonPlace) -> Iterator[str]:
        for each in found:
            if each.place.body is place.body and (each.node is None or may_be_repeated(each.node)):
                yield each.text


def _default(stream: int) -> str:
    return {CUDA.legacy_stream: "0", CUDA.per_thread_stream: "2"}.get(stream, "")


def _cost(text: str, kinds: Mapping[str, str]) -> tuple[int, int, int, str]:
    node = ast.parse(text, mode="eval").body
    depth = sum(isinstance(each, ast.Attribute | ast.Subscript) for each in ast.walk(node))
    subscripts = sum(isinstance(each, ast.Subscript) for each in ast.walk(node))
    return int(kinds.get(text) == "int"), depth + subscripts, len(text), text
