"""How a stream or an event may be written at a place: as the calls there write it, in names that are visible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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
from streamsan.edits.cpp.calls import Chains, Written
from streamsan.edits.cpp.insertion import Layout, NoPlaceError
from streamsan.edits.cpp.members import class_of
from streamsan.edits.cpp.scope import Scope, names_in
from streamsan.edits.cpp.spots import Spot
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.order.facts import Operation
from streamsan.platforms import CUDA
from streamsan.rules.case import LEGACY_STREAM, PER_THREAD_STREAM
from streamsan.vocabulary import OperationKind

DEFAULT_STREAM = "0"
"""As the program writes it: which stream that is may be said by an option of the compiler."""
DEFAULT_STREAMS = {LEGACY_STREAM: DEFAULT_STREAM, PER_THREAD_STREAM: "cudaStreamPerThread"}
DEFAULT_STREAMS_OF_DRIVER = {LEGACY_STREAM: DEFAULT_STREAM, PER_THREAD_STREAM: "CU_STREAM_PER_THREAD"}


class HandleNames:
    """The names of streams and events, for the operations of one trace."""

    def __init__(self, chains: Chains, layout: Layout, trace: EditableTrace) -> None:
        self._chains = chains
        self._layout = layout
        self._trace = trace
        self._scopes: dict[int, Scope] = {}

    def of(self, operation: Operation, spot: Spot) -> Iterator[str]:
        """Yield how the stream of an operation may be written at a spot: as the operation's own calls write it first.

        Then as other calls of the same function write the same stream.
        """
        row = self._trace.row(operation)
        slots = self._trace.slots
        stream = int(slots["stream"][row]) if row is not None else operation.stream
        if not stream:
            return
        found: list[str] = []
        for written in self._chains.streams(operation.site):
            self._add(found, written, spot)
        if not found:
            same = self._trace.starts & (slots["stream"] == stream) & (slots["site"] != 0)
            for site in dict.fromkeys(slots["site"][same].tolist()):
                for written in self._chains.streams(site):
                    self._add(found, written, spot)
            made = self._trace.starts & (slots["kind"] == OperationKind.STREAM_CREATE) & (slots["object"] == stream)
            for site in slots["site"][made].tolist():
                for written in self._chains.made(site):
                    self._add(found, written, spot)
        api = int(slots["api"][row]) if row is not None else operation.api
        driver = CUDA.is_low_level(self._trace.trace.apis[api]) if 0 < api < len(self._trace.trace.apis) else False
        default = (DEFAULT_STREAMS_OF_DRIVER if driver else DEFAULT_STREAMS).get(stream)
        if not found and default is not None:
            found.append(default)
        yield from found[:3]

    def event_of(self, record: Operation, spot: Spot) -> Iterator[str]:
        """Yield how the event of a record may be written at a spot."""
        found: list[str] = []
        for written in self._chains.events(record.site):
            self._add(found, written, spot)
        row = self._trace.row(record)
        if not found and row is not None:
            slots = self._trace.slots
            event = int(slots["object"][row])
            kinds = (OperationKind.EVENT_RECORD, OperationKind.STREAM_WAIT_EVENT, OperationKind.EVENT_SYNCHRONIZE)
            same = self._trace.starts & np.isin(slots["kind"], kinds) & (slots["object"] == event)
            for site in dict.fromkeys(slots["site"][same].tolist()):
                for written in self._chains.events(site):
                    self._add(found, written, spot)
            made = self._trace.starts & (slots["kind"] == OperationKind.EVENT_CREATE) & (slots["object"] == event)
            for site in slots["site"][made].tolist():
                for written in self._chains.made(site):
                    self._add(found, written, spot)
        yield from found[:3]

    def _add(self, found: list[str], written: Written, spot: Spot) -> None:
        if not spot.inside(written.spot.body) and not self._means_the_same(written, spot):
            return
        text = self.written(written.expression, spot)
        if text is not None and f"{text}{written.member}" not in found:
            found.append(f"{text}{written.member}")

    def _means_the_same(self, written: Written, spot: Spot) -> bool:
        """Tell whether an expression of one function names nothing but globals, and members of the class of both."""
        if written.expression is None:
            return True
        other = self.scope(written.spot)
        owner = class_of(self._chains.unit, spot.body)
        alike = owner is not None and owner is class_of(self._chains.unit, written.spot.body)
        here = self.scope(spot)
        return all(
            (alike and other.is_member(name) and here.is_member(name))
            or (other.is_global(name) and here.is_global(name))
            for name in names_in(written.expression)
        )

    def written(self, expression: Expression | None, spot: Spot) -> str | None:
        """Return an expression's text if it may be written at a spot, and does nothing there; None otherwise."""
        if expression is None:
            return DEFAULT_STREAM
        if not _may_be_repeated(expression) or not self.scope(spot).shows(expression):
            return None
        if isinstance(expression, Name):
            return expression.name
        try:
            text = self._layout.text(expression.span)
        except NoPlaceError:
            return None
        return None if "\ufffd" in text else text

    def scope(self, spot: Spot) -> Scope:
        """Return the names that are visible at a spot."""
        scope = self._scopes.get(id(spot))
        if scope is None:
            scope = self._scopes[id(spot)] = Scope(self._chains.unit, spot)
        return scope


def _may_be_repeated(expression: Expression) -> bool:
    """Tell whether an expression does nothing but name something: no assignment, no increment."""
    if isinstance(expression, Name | Literal_):
        return True
    if isinstance(expression, Member):
        return _may_be_repeated(expression.object)
    if isinstance(expression, Unary):
        return expression.operator in ("*", "&", "-") and _may_be_repeated(expression.operand)
    if isinstance(expression, Call):
        # `stream.get()`, `queue.handle()`
        return (
            isinstance(expression.callee, Member) and not expression.arguments and _may_be_repeated(expression.callee)
        )
    return _is_element(expression)


def _is_element(expression: Expression) -> bool:
    if isinstance(expression, Index):
        return _may_be_repeated(expression.base) and _may_be_repeated(expression.index)
    if isinstance(expression, Cast):
        return _may_be_repeated(expression.operand)
    return isinstance(expression, Binary) and _may_be_repeated(expression.left) and _may_be_repeated(expression.right)
