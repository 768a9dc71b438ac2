"""A dependency between two nodes of a graph, written where the later one is added or captured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streamsan.cuda_syntax.tree import Assign, Call, ExpressionStatement, InitList, Name, Unary, Variable
from streamsan.edits.cpp.calls import Chains, api_name, named_position, stream_argument
from streamsan.edits.cpp.insertion import Layout, NoPlaceError
from streamsan.edits.cpp.names import HandleNames
from streamsan.edits.cpp.puts import Puts
from streamsan.edits.cpp.spots import Spot
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.order_steps import EdgeBetween
from streamsan.evidence.fix.steps import Calls
from streamsan.order.facts import Operation
from streamsan.vocabulary import OperationKind

NO_NAMES = "the two nodes have no names that are visible where a dependency could be added"


class Dependencies:
    """Writes edges of graphs."""

    def __init__(self, chains: Chains, layout: Layout, names: HandleNames, trace: EditableTrace, puts: Puts) -> None:
        self._chains = chains
        self._layout = layout
        self._names = names
        self._trace = trace
        self._puts = puts
        self.reasons: list[str] = []

    def of(self, step: EdgeBetween) -> Iterator[Variant]:
        """Yield the later node's dependencies replaced by the earlier node, where that has them too; or an event."""
        free = self._may_be_replaced(step.earlier, step.later)
        found = False
        for second in self._levels(step.later):
            for first in self._levels(step.earlier):
                if first.body is not second.body or first.span[1:3] >= second.span[1:3]:
                    continue
                variants = [*self._node_after(first, second, free), *self._captured_after(first, second)]
                found = found or bool(variants)
                yield from variants
        if not found:
            self.reasons.append(NO_NAMES)

    def _levels(self, operation: Operation) -> Iterator[Spot]:
        for spot in self._chains.spots(operation.site):
            if spot is not None:
                yield spot

    def _node_after(self, first: Spot, second: Spot, free: bool) -> Iterator[Variant]:
        """Yield the node of `first` as a dependency of that which `second` makes: the only one where `free`."""
        name, call = _node_of(first), second.call
        if name is None or not isinstance(call, Call) or not self._names.scope(second).has(name):
            return
        place = named_position(call, "pDependencies", "dependencies")
        count = named_position(call, "numDependencies")
        try:
            if place is not None and count is not None and count < len(call.arguments):
                if not free:
                    return
                edits = [
                    self._layout.replaced(call.arguments[place].span, f"&{name}"),
                    self._layout.replaced(call.arguments[count].span, "1"),
                ]
            else:
                # A helper that takes a list of nodes.
                lists = [each for each in call.arguments if isinstance(each, InitList) and each.type is None]
                if len(lists) != 1:
                    return
                others = [] if free else [self._layout.text(item.span) for item in lists[0].items]
                edits = [self._layout.replaced(lists[0].span, f"{{{', '.join([*others, name])}}}")]
        except NoPlaceError:
            return
        yield Variant(f"line {second.span.line}: the node depends on `{name}`", tuple(edits))

    def _may_be_replaced(self, earlier: Operation, later: Operation) -> bool:
        """Tell whether the later node depends on nothing that the earlier one does not depend on as well."""
        first, second = self._trace.row(earlier), self._trace.row(later)
        if first is None or second is None:
            return False
        slots = self._trace.slots
        edges = self._trace.starts & (slots["kind"] == OperationKind.GRAPH_EDGE)
        edges &= slots["stream"] == slots["stream"][second]
        before: dict[int, set[int]] = {}
        for row in np.flatnonzero(edges).tolist():
            before.setdefault(int(slots["address"][row]), set()).add(int(slots["object"][row]))
        known: set[int] = set()
        pending = [int(slots["object"][first])]
        while pending:
            node = pending.pop()
            if node not in known:
                known.add(node)
                pending += before.get(node, ())
        return before.get(int(slots["object"][second]), set()) <= known

    def _captured_after(self, first: Spot, second: Spot) -> Iterator[Variant]:
        """Yield an event between two captured calls."""
        if first.call is None or second.call is None:
            return
        runs, waits = stream_argument(first.call), stream_argument(second.call)
        if not runs[0] or not waits[0]:
            return
        names = [self._names.written(expression, second) for _, expression in (runs, waits)]
        if names[0] is None or names[1] is None or names[0] == names[1]:
            return
        yield from self._puts.event_at(second, names[0], names[1], Calls(driver=False))


def _node_of(spot: Spot) -> str | None:
    """Return the variable that holds the node which a call makes."""
    statement, call = spot.statement, spot.call
    if isinstance(statement, Variable) and statement.initializer is call:
        return statement.name
    if isinstance(statement, ExpressionStatement):
        made = statement.expression
        if isinstance(made, Assign) and made.value is call and isinstance(made.target, Name):
            return made.target.name
    if api_name(call) is not None and isinstance(call, Call) and call.arguments:
        out = call.arguments[0]
        if isinstance(out, Unary) and out.operator == "&" and isinstance(out.operand, Name):
            return out.operand.name
    return None
