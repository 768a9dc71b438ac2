"""A dependency between two nodes of a graph, written where the later one is added."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streamsan.cuda_syntax.tree import Assign, Call, ExpressionStatement, InitList, Name, Unary, Variable
from streamsan.edits.cpp.calls import api_name, named_position
from streamsan.edits.cpp.layout import CppLayout
from streamsan.edits.cpp.places import CppPlace
from streamsan.edits.layout import NoPlaceError
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.order_steps import EdgeBetween
from streamsan.findings.finding import Edit
from streamsan.vocabulary import OperationKind


def dependent_edits(name: str, second: CppPlace, only: bool, layout: CppLayout) -> Iterator[list[Edit]]:
    """Yield the edits that make what a call adds depend on a node: on that alone where `only`."""
    call = second.call
    if not isinstance(call, Call):
        return
    place = named_position(call, "pDependencies", "dependencies")
    count = named_position(call, "numDependencies")
    try:
        if place is not None and count is not None and count < len(call.arguments):
            if only:
                yield [
                    layout.replaced(call.arguments[place].span, f"&{name}"),
                    layout.replaced(call.arguments[count].span, "1"),
                ]
            return
        # A helper that takes a list of nodes.
        lists = [each for each in call.arguments if isinstance(each, InitList) and each.type is None]
        if len(lists) == 1:
            others = [] if only else [layout.text(item.span) for item in lists[0].items]
            yield [layout.replaced(lists[0].span, f"{{{', '.join([*others, name])}}}")]
    except NoPlaceError:
        return


def needs_nothing_else(trace: EditableTrace, step: EdgeBetween) -> bool:
    """Tell whether the later node depends on nothing that the earlier one does not depend on as well."""
    first, second = trace.row(step.earlier), trace.row(step.later)
    if first is None or second is None:
        return False
    slots = trace.slots
    edges = trace.starts & (slots["kind"] == OperationKind.GRAPH_EDGE) & (slots["stream"] == slots["stream"][second])
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


def node_name(place: CppPlace) -> str:
    """Return the variable that holds the node which a call makes, "" where none does."""
    statement, call = place.statement, place.call
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
    return ""
