"""How a stream or an event may be written at a place: as the calls there write it, in names that are visible."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from streamsan.cuda_syntax.tree import (
    Binary,
    Call,
    Cast,
    Expression,
    Index,
    Literal_,
    Member,
    Name,
    Unary,
)
from streamsan.cuda_syntax.walk import parts
from streamsan.edits.cpp.calls import Chains, Written
from streamsan.edits.cpp.layout import CppLayout
from streamsan.edits.cpp.members import class_of
from streamsan.edits.cpp.places import CppPlace
from streamsan.edits.cpp.scope import Scope, names_in
from streamsan.edits.layout import NoPlaceError
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.order.facts import Operation
from streamsan.platforms import CUDA
from streamsan.vocabulary import OperationKind

DEFAULT_STREAM = "0"
"""As the program writes it: which stream that is may be said by an option of the compiler."""
DEFAULT_STREAMS = {
    CUDA.legacy_stream: (DEFAULT_STREAM, DEFAULT_STREAM),
    CUDA.per_thread_stream: ("cudaStreamPerThread", "CU_STREAM_PER_THREAD"),
}
"""for the runtime, for the driver"""
OF_EVENTS = (OperationKind.EVENT_RECORD, OperationKind.STREAM_WAIT_EVENT, OperationKind.EVENT_SYNCHRONIZE)


class HandleNames:
    """The names of streams and events, for the operations of one trace."""

    def __init__(self, chains: Chains, layout: CppLayout, trace: EditableTrace) -> None:
        self._chains = chains
        self._layout = layout
        self._trace = trace
        self._scopes: dict[CppPlace, Scope] = {}

    def of(self, operation: Operation, place: CppPlace) -> list[str]:
        """Return how the stream of an operation may be written at a place: as its own calls write it first.

        Then as other calls of the same function write the same stream.
        """
        row = self._trace.row(operation)
        slots = self._trace.slots
        stream = int(slots["stream"][row]) if row is not None else operation.stream
        if not stream:
            return []
        same = slots["stream"] == stream
        found = self._found(operation, place, self._chains.streams, same, OperationKind.STREAM_CREATE, stream)
        default = DEFAULT_STREAMS.get(stream)
        if not found and default is not None:
            api = int(slots["api"][row]) if row is not None else operation.api
            return [default[CUDA.is_low_level(self._trace.trace.apis[api])]]
        return found

    def event_of(self, record: Operation, place: CppPlace) -> list[str]:
        """Return how the event of a record may be written at a place."""
        row = self._trace.row(record)
        slots = self._trace.slots
        event = int(slots["object"][row]) if row is not None else 0
        same = np.isin(slots["kind"], OF_EVENTS) & (slots["object"] == event)
        return self._found(record, place, self._chains.events, same, OperationKind.EVENT_CREATE, event)

    def _found(
        self,
        operation: Operation,
        place: CppPlace,
        written_by: Callable[[int], Iterator[Written]],
        same: npt.NDArray[np.bool_],
        creation: OperationKind,
        handle: int,
    ) -> list[str]:
        """Return how a handle is written by an operation; else by those that have the same, and where it is made."""
        found: list[str] = []
        for written in written_by(operation.site):
            self._add(found, written, place)
        if not found and handle:
            slots = self._trace.slots
            for site in dict.fromkeys(slots["site"][self._trace.starts & same & (slots["site"] != 0)].tolist()):
                for written in written_by(site):
                    self._add(found, written, place)
            made = self._trace.starts & (slots["kind"] == creation) & (slots["object"] == handle)
            for site in slots["site"][made].tolist():
                for written in self._chains.made(site):
                    self._add(found, written, place)
        return found

    def visible(self, written: Written, place: CppPlace) -> list[str]:
        """Return how something that a call writes is written at another place, nothing where it cannot be."""
        found: list[str] = []
        self._add(found, written, place)
        return found

    def _add(self, found: list[str], written: Written, place: CppPlace) -> None:
        if not place.inside(written.place.body) and not self._means_the_same(written, place):
            return
        text = self.written(written.expression, place)
        if text is not None and f"{text}{written.member}" not in found:
            found.append(f"{text}{written.member}")

    def _means_the_same(self, written: Written, place: CppPlace) -> bool:
        """Tell whether an expression of one function names nothing but globals, and members of the class of both."""
        if written.expression is None:
            return True
        other = self.scope(written.place)
        owner = class_of(self._chains.unit, place.body)
        alike = owner is not None and owner is class_of(self._chains.unit, written.place.body)
        here = self.scope(place)
        return all(
            (alike and other.is_member(name) and here.is_member(name))
            or (other.is_global(name) and here.is_global(name))
            for name in names_in(written.expression)
        )

    def written(self, expression: Expression | None, place: CppPlace) -> str | None:
        """Return an expression's text if it may be written at a place, and does nothing there; None otherwise."""
        if expression is None:
            return DEFAULT_STREAM
        if not _may_be_repeated(expression) or not self.scope(place).shows(expression):
            return None
        if isinstance(expression, Name):
            return expression.name
        try:
            text = self._layout.text(expression.span)
        except NoPlaceError:
            return None
        return None if "\ufffd" in text else text

    def scope(self, place: CppPlace) -> Scope:
        """Return the names that are visible at a place."""
        if place not in self._scopes:
            self._scopes[place] = Scope(self._chains.unit, place)
        return self._scopes[place]


def _may_be_repeated(expression: Expression) -> bool:
    """Tell whether an expression does nothing but name something: no assignment, no increment."""
    if isinstance(expression, Call):
        # `stream.get()`, `queue.handle()`
        if expression.arguments or not isinstance(expression.callee, Member):
            return False
    elif isinstance(expression, Unary):
        if expression.operator not in ("*", "&", "-"):
            return False
    elif not isinstance(expression, Name | Literal_ | Member | Index | Cast | Binary):
        return False
    return all(_may_be_repeated(part) for part in parts(expression) if isinstance(part, Expression))
