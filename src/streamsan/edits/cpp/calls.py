"""What a call is given: its stream or event as written, also by the callers that hand it down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from streamsan.cuda_source import known_apis
from streamsan.cuda_syntax.tree import (
    Call,
    Expression,
    Launch,
    Member,
    Name,
    Parameter,
    Span,
    Unary,
    Unit,
    Variable,
)
from streamsan.edits.cpp.members import accessors, class_of, member_name
from streamsan.edits.cpp.places import Body, CppPlace, find
from streamsan.effects.roles import Effect, Role
from streamsan.effects.signature import Signature
from streamsan.trace import Site, Trace

STREAM_OF_LAUNCH = 3
"""position in `<<<grid, block, shared, stream>>>`"""
ASKING = ("cudaGetLastError", "cudaPeekAtLastError")
"""Their value is the status of calls before them."""


class Written(Struct, frozen=True, eq=False):
    """How a value is written in a call at one level of a chain of calls."""

    place: CppPlace
    expression: Expression | None
    """None: the argument is left out, and means the default stream"""
    member: str = ""
    """what stands behind the expression: `.stream`, `->get()`"""


class Chains:
    """The chains of calls that lead to the operations of a trace, innermost first, as places in the tree."""

    def __init__(self, unit: Unit, trace: Trace) -> None:
        self.unit = unit
        self.trace = trace
        self._places: dict[Span, CppPlace | None] = {}

    def places(self, site: int) -> list[CppPlace | None]:
        """Return the place of a site and those of the calls it is nested in; None for what has no place."""
        chain = []
        while site:
            entry = self.trace.site(site)
            chain.append(self.place(span_of(entry)) if entry.line else None)
            site = entry.caller
        return chain

    def place(self, span: Span) -> CppPlace | None:
        """Return the place of a span."""
        if span not in self._places:
            self._places[span] = find(self.unit, span)
        return self._places[span]

    def streams(self, site: int) -> Iterator[Written]:
        """Yield how the stream of an operation is written, at each level of its chain of calls."""
        return self._given(site, stream_argument)

    def events(self, site: int) -> Iterator[Written]:
        """Yield how the event of a record or wait is written, at each level of its chain of calls."""
        return self._given(site, event_argument)

    def _given(self, site: int, argument: Callable[[Expression], tuple[bool, Expression | None]]) -> Iterator[Written]:
        places = self.places(site)
        innermost = places[0] if places else None
        if innermost is None or innermost.call is None:
            return
        found, expression = argument(innermost.call)
        if not found:
            return
        yield Written(innermost, expression)
        yield from self._handed_down(places, innermost, expression)

    def made(self, site: int) -> Iterator[Written]:
        """Yield how a stream is called where it is made, `s` of `cudaStreamCreate(&s)`."""
        places = self.places(site)
        if not places or places[0] is None or not isinstance(places[0].call, Call):
            return
        for argument in places[0].call.arguments:
            if isinstance(argument, Unary) and argument.operator == "&":
                yield Written(places[0], argument.operand)
                yield from self._of_object(places, argument.operand)
                return

    def _of_object(self, places: Sequence[CppPlace | None], made: Expression) -> Iterator[Written]:
        """Yield what a constructor makes as a member of the variable that it is called for."""
        if len(places) < 2 or places[0] is None or places[1] is None:
            return
        owner, name, variable = class_of(self.unit, places[0].body), member_name(made), places[1].statement
        if owner is not None and name is not None and isinstance(variable, Variable) and not variable.type.pointers:
            for member in accessors(self.unit, owner, name, arrow=False):
                yield Written(places[1], Name(variable.span, variable.name), member)

    def _handed_down(
        self, places: Sequence[CppPlace | None], place: CppPlace, expression: Expression | None
    ) -> Iterator[Written]:
        members = [""]
        for caller in places[1:]:
            call = caller.call if caller is not None else None
            if caller is None or expression is None or not isinstance(call, Call):
                return
            position = _parameter(place.body, expression.name) if isinstance(expression, Name) else None
            if position is not None:
                if position >= len(call.arguments):
                    return
                expression = call.arguments[position]
            else:
                owner, name = class_of(self.unit, place.body), member_name(expression)
                if owner is None or name is None or members != [""] or not isinstance(call.callee, Member):
                    return
                members = list(accessors(self.unit, owner, name, call.callee.arrow))
                expression = call.callee.object
            place = caller
            for member in members:
                yield Written(place, expression, member)


def span_of(site: Site) -> Span:
    """Return the span of a site."""
    return Span(site.file, site.line, site.column, site.end_line, site.end_column)


def _parameter(body: Body, name: str) -> int | None:
    parameters: list[Parameter] = body.parameters
    return next((index for index, each in enumerate(parameters) if each.name == name), None)


def stream_argument(call: Expression) -> tuple[bool, Expression | None]:
    """Return whether a call takes a stream, and how it is written (None where it is left out)."""
    if isinstance(call, Launch):
        given = len(call.configuration) > STREAM_OF_LAUNCH
        return True, call.configuration[STREAM_OF_LAUNCH] if given else None
    position = argument_position(call, Role.HANDLE, "stream")
    if position is None or not isinstance(call, Call):
        return False, None
    return True, call.arguments[position] if position < len(call.arguments) else None


def event_argument(call: Expression) -> tuple[bool, Expression | None]:
    """Return whether a call takes an event, and how it is written."""
    position = argument_position(call, Role.HANDLE, "event")
    if position is None or not isinstance(call, Call) or position >= len(call.arguments):
        return False, None
    return True, call.arguments[position]


def _signature(call: Expression) -> Signature | None:
    """Return the published signature that a call of the API is written by."""
    name = api_name(call)
    api = known_apis.find(name) if name is not None else None
    return api.bind(len(call.arguments)) if api is not None and isinstance(call, Call) else None


def argument_position(call: Expression, role: Role, handle: str = "") -> int | None:
    """Return where a call of the API takes its argument of a role."""
    signature = _signature(call)
    if signature is None:
        return None
    parameter = signature.first(role, handle)
    return signature.parameters.index(parameter) if parameter is not None else None


def named_position(call: Expression, *names: str) -> int | None:
    """Return where a call of the API takes the parameter of one of these names."""
    signature = _signature(call)
    if signature is None:
        return None
    lowered = {each.lower() for each in names}
    return next((i for i, each in enumerate(signature.parameters) if each.name.lower() in lowered), None)


def api_name(call: Expression | None) -> str | None:
    """Return the name of the API that a call names, None where it is another function."""
    if not isinstance(call, Call) or not isinstance(call.callee, Name):
        return None
    name = call.callee.name.lstrip(":")
    return name if known_apis.find(name) is not None else None


def is_status_call(call: Expression | None) -> bool:
    """Tell whether a call of the API returns a status."""
    name = api_name(call)
    api = known_apis.find(name) if name is not None else None
    return api is not None and (api.effect is not Effect.PURE or api.name in ASKING)
