"""Frames, and how control leaves a statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from streamsan.cuda_source.values.cells import Cell, Scope, Value
from streamsan.cuda_source.values.classes import ClassInfo
from streamsan.cuda_syntax.tree import Function, Lambda, Span, Statement


class Frame:
    """One activation of a function, method or lambda."""

    def __init__(
        self,
        function: str,
        scope: Scope,
        *,
        this: Cell | None = None,
        cls: ClassInfo | None = None,
        bindings: dict[str, Any] | None = None,
        namespace: str = "",
        call_site: int = 0,
        declaration: Function | None = None,
        closure: Lambda | None = None,
    ) -> None:
        self.function = function
        self.scope = scope
        self.outermost = scope
        self.this = this
        self.cls = cls
        self.bindings = bindings or {}
        self.namespace = namespace
        self.call_site = call_site
        """Site id of the call that made the frame."""
        self.declaration = declaration
        self.closure = closure
        self.temporaries: list[Value] = []
        """Class objects made by the full-expression under evaluation; destroyed when it ends."""
        self.expanding: set[str] = set()
        """Macros under expansion: C expands none inside itself."""
        self.loops = 0
        """Loops around the statement under execution, in this activation."""
        self._under_way: list[UnderWay] = []

    @contextmanager
    def within(self, scope: Scope) -> Iterator[None]:
        """Look names up in a scope for a while."""
        outer, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = outer

    @contextmanager
    def following(self, statements: Sequence[Statement]) -> Iterator[UnderWay]:
        """Run statements one after the other; who runs them says how far it is."""
        under_way = UnderWay(statements, self.loops)
        self._under_way.append(under_way)
        try:
            yield under_way
        finally:
            self._under_way.pop()

    @property
    def current(self) -> Statement | None:
        """The statement under execution, the innermost of those in each other."""
        if not self._under_way:
            return None
        under_way = self._under_way[-1]
        return under_way.statements[under_way.next - 1]

    def rest(self, *, in_loop: bool = False) -> Iterator[Statement]:
        """Yield what stands behind the statement under execution, innermost first, to the end of its loop or of all."""
        for under_way in reversed(self._under_way):
            if in_loop and under_way.loops != self.loops:
                return
            yield from under_way.statements[under_way.next :]


class UnderWay(Struct):
    """Statements of which one is under execution."""

    statements: Sequence[Statement]
    loops: int
    """those around them, in their activation"""
    next: int = 0
    """position of the statement behind the one under execution"""


class Completion:
    """How a statement ended; None stands for falling off its end."""

    __slots__ = ("kind", "label", "span", "value")

    def __init__(self, kind: str, value: Value = None, label: str = "", span: Span | None = None) -> None:
        self.kind = kind
        self.span = span
        self.value = value
        self.label = label


BREAK = Completion("break")
CONTINUE = Completion("continue")


class Thrown(Exception):  # noqa: N818 - control flow, no error
    """A C++ exception of the program under interpretation."""

    def __init__(self, value: Value, span: Span, conditional: int) -> None:
        super().__init__("thrown")
        self.value = value
        self.span = span
        self.conditional = conditional
        """undecided branches around the place"""


class Exited(Exception):  # noqa: N818 - control flow, no error
    """The program under interpretation called exit (normal) or abort."""

    def __init__(self, normal: bool, status: Value = 0, span: Span | None = None) -> None:
        super().__init__("exited")
        self.normal = normal
        self.span = span
        self.status = status


class PathEnds(Exception):  # noqa: N818 - control flow, no error
    """The path cannot be followed further: a budget is spent, or the path contradicts itself."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


class CallEnds(Exception):  # noqa: N818 - control flow, no error
    """A call takes too long to follow, and has done nothing to a device: its caller goes on without it."""
