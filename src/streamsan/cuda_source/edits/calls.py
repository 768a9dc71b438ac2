"""What a call is given: its stream as written, also by the callers that hand it down, and the check around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamsan.cuda_source.edits.spots import Body, Spot, find
from streamsan.cuda_source.syntax.tree import (
    Call,
    Cast,
    Expression,
    ExpressionStatement,
    Function,
    Launch,
    Name,
    Parameter,
    Span,
    Unary,
    Unit,
)
from streamsan.cuda_source.syntax.walk import nodes
from streamsan.effects.roles import Role
from streamsan.effects.signature import Signature
from streamsan.effects.table import EFFECTS
from streamsan.trace import Site, Trace

STREAM_OF_LAUNCH = 3
"""position in `<<<grid, block, shared, stream>>>`"""


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """How a value is written in a call at one level of a chain of calls."""

    spot: Spot
    expression: Expression | None
    """None: the argument is left out, and means the default stream"""


class Chains:
    """The chains of calls that lead to the operations of a trace, innermost first, as places in the tree."""

    def __init__(self, unit: Unit, trace: Trace) -> None:
        self.unit = unit
        self.trace = trace
        self._spots: dict[Span, Spot | None] = {}

    def spots(self, site: int) -> list[Spot | None]:
        """Return the place of a site and those of the calls it is nested in; None for what has no place."""
        chain = []
        while site:
            entry = self.trace.site(site)
            chain.append(self.spot(span_of(entry)) if entry.line else None)
            site = entry.caller
        return chain

    def spot(self, span: Span) -> Spot | None:
        """Return the place of a span."""
        if span not in self._spots:
            self._spots[span] = find(self.unit, span)
        return self._spots[span]

    def streams(self, site: int) -> Iterator[Written]:
        """Yield how the stream of an operation is written, at each level of its chain of calls."""
        spots = self.spots(site)
        innermost = spots[0] if spots else None
        if innermost is None or innermost.call is None:
            return
        found, expression = stream_argument(innermost.call)
        if not found:
            return
        yield Written(innermost, expression)
        yield from self._handed_down(spots, innermost, expression)

    def made(self, site: int) -> Iterator[Written]:
        """Yield how a stream is called where it is made, `s` of `cudaStreamCreate(&s)`."""
        spots = self.spots(site)
        if not spots or spots[0] is None or not isinstance(spots[0].call, Call):
            return
        for argument in spots[0].call.arguments:
            if isinstance(argument, Unary) and argument.operator == "&":
                yield Written(spots[0], argument.operand)
                return

    def _handed_down(
        self, spots: Sequence[Spot | None], spot: Spot, expression: Expression | None
    ) -> Iterator[Written]:
        for caller in spots[1:]:
            if caller is None or not isinstance(expression, Name):
                return
            position = _parameter(spot.body, expression.name)
            call = caller.call
            if position is None or not isinstance(call, Call) or position >= len(call.arguments):
                return
            expression = call.arguments[position]
            spot = caller
            yield Written(spot, expression)


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


def _signature(call: Expression) -> Signature | None:
    """Return the published signature that a call of the API is written by."""
    name = api_name(call)
    api = EFFECTS.find(name) if name is not None else None
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
    return name if name in EFFECTS else None


def wrapper_of(statement: object) -> tuple[str, str] | None:
    """Return the check and the API of a statement `CHECK(cudaCall(...));`; the check is "" without one."""
    if not isinstance(statement, ExpressionStatement):
        return None
    expression = statement.expression
    if isinstance(expression, Cast):
        expression = expression.operand
    name = api_name(expression)
    if name is not None:
        return "", name
    if not isinstance(expression, Call) or not isinstance(expression.callee, Name) or len(expression.arguments) != 1:
        return None
    inner = api_name(expression.arguments[0])
    return (expression.callee.name, inner) if inner is not None else None


def check_for(spot: Spot, driver: bool) -> str:
    """Return the check that a call inserted at a spot goes through: that of the statement, or of those around it."""
    own = wrapper_of(spot.statement)
    if own is not None and _is_driver(own[1]) == driver:
        return own[0]
    before: list[str] = []
    after: list[str] = []
    for node in nodes(spot.body.body):
        found = wrapper_of(node)
        if found is None or _is_driver(found[1]) != driver or not isinstance(node, ExpressionStatement):
            continue
        (before if node.span.line <= spot.span.line else after).append(found[0])
    every = before or after
    # Where the function checks what it calls, it checks this as well.
    checks = [check for check in every if check]
    return max(set(checks), key=checks.count) if len(checks) * 2 >= max(1, len(every)) and checks else ""


def _is_driver(name: str) -> bool:
    return not name.startswith("cuda")


def function_name(body: Body) -> str:
    """Return the name of a function, "" for a lambda."""
    return body.name if isinstance(body, Function) else ""
