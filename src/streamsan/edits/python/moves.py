"""Statements of a Python program that are moved and taken out: frees, records of events, waits."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence

from streamsan.edits.python import layout
from streamsan.edits.python.checks import unit_of
from streamsan.edits.python.layout import NoPlaceError
from streamsan.edits.python.names import Chains, Names
from streamsan.edits.python.speech import Speeches
from streamsan.edits.python.spots import Spot, child_in
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.change_steps import FreeBehindUses
from streamsan.findings.finding import Edit
from streamsan.order.facts import Operation
from streamsan.vocabulary import OperationKind

RELEASES = frozenset(
    {
        OperationKind.FREE,
        OperationKind.STREAM_SYNCHRONIZE,
        OperationKind.EVENT_SYNCHRONIZE,
        OperationKind.CONTEXT_SYNCHRONIZE,
        OperationKind.STREAM_DESTROY,
        OperationKind.EVENT_DESTROY,
        OperationKind.DEVICE_RESET,
        OperationKind.CONTEXT_DESTROY,
        OperationKind.CALL,
    }
)
"""what a helper may do whose call is moved to a later place"""

Code = tuple[list[str], str]
"""lines that come before what is moved, in its new place, and what to say of them"""


class Moves:
    """Moves and removals, with the reasons why some cannot be made."""

    def __init__(self, chains: Chains, names: Names, speeches: Speeches) -> None:
        self._chains = chains
        self._trace = chains.trace
        self._names = names
        self._speeches = speeches
        self.reasons: list[str] = []

    def free(self, step: FreeBehindUses) -> Iterator[Variant]:
        """Yield the free behind the last use, where one block has both; one that waits for nothing also with a wait."""
        yield from self._moved(step.free, step.last, RELEASES, lambda last: self._waits_before(step, last))

    def behind(self, what: Operation, where: Operation, kinds: Collection[int]) -> Iterator[Variant]:
        """Yield a call behind another one. Helpers may be moved that do nothing but operations of these kinds."""
        yield from self._moved(what, where, kinds, lambda last: iter([([], "")]))

    def _moved(
        self, what: Operation, where: Operation, kinds: Collection[int], first: Callable[[Spot], Iterator[Code]]
    ) -> Iterator[Variant]:
        lasts = self._chains.spots(where.site)
        known = len(self.reasons)
        for spot in self._chains.spots(what.site):
            if spot is None or spot.statement is None or spot.block is None:
                continue
            statement = spot.statement
            unit = unit_of(spot.block, statement)
            for last in lasts:
                target = child_in(last, spot.block) if last is not None and last.text is spot.text else None
                if last is None or target is None or target.lineno < statement.lineno:
                    continue
                if any(target is each for each in unit):
                    continue
                if not self._may_move(spot, statement, what, kinds):
                    self.reasons.append(f"line {statement.lineno} does more than that: it cannot come later as a whole")
                    continue
                target = unit_of(spot.block, target)[-1]
                for code, words in first(last):
                    try:
                        edits = layout.moved(spot, unit, target, code)
                    except NoPlaceError:
                        continue
                    yield Variant(f"move line {statement.lineno} behind line {target.end_lineno}{words}", tuple(edits))
        places = [self._trace.trace.site(each.site).function or "the module" for each in (what, where)]
        if len(self.reasons) == known and places[0] != places[1]:
            self.reasons.append(f"no block of the program has both the call in `{places[0]}` and that in `{places[1]}`")

    def _waits_before(self, step: FreeBehindUses, last: Spot) -> Iterator[Code]:
        """Yield the code before a free in its new place: none; where it waits for nothing, also a wait of the host."""
        yield [], ""
        row = self._trace.row(step.last)
        stream = int(self._trace.slots["stream"][row]) if row is not None else 0
        if row is None or step.free.stream or not stream:
            return
        for text in self._names.of([(row, stream)], last, step.last):
            speech = self._speeches.at(last, row)
            calls = speech.calls(self._chains.api(step.free))
            code = speech.call(calls.stream_sync, text)
            if not speech.imports:
                yield code, f"; before it: {'; '.join(code)}"

    def _may_move(self, spot: Spot, statement: ast.stmt, what: Operation, allowed: Collection[int]) -> bool:
        """Tell whether a statement only calls, and does nothing but operations of some kinds."""
        if isinstance(statement, ast.Expr):
            calls = isinstance(statement.value, ast.Call)
        else:
            calls = isinstance(statement, ast.Delete) or (
                isinstance(statement, ast.Assign) and spot.level == 0 and isinstance(statement.value, ast.Call)
            )
        if not calls:
            return False
        return self.does_only(what, spot.level, allowed)

    def does_only(self, what: Operation, level: int, allowed: Collection[int]) -> bool:
        """Tell whether all that is done below one level of an operation's chain of calls is of some kinds."""
        own = self._chains.chain(what.site)[level:]
        slots = self._trace.slots
        kinds: dict[int, set[int]] = {}
        for row in self._trace.starts.nonzero()[0].tolist():
            kinds.setdefault(int(slots["site"][row]), set()).add(int(slots["kind"][row]))
        for site, done in kinds.items():
            chain = self._chains.chain(site)
            inside = len(chain) >= len(own) and chain[len(chain) - len(own) :] == own
            if inside and not done <= {*allowed, OperationKind.CALL}:
                return False
        return True

    def removal(self, waits: Sequence[Operation]) -> Iterator[Variant]:
        """Yield the removal of waits, each a statement of its own."""
        edits: list[Edit] = []
        lines = []
        for wait in waits:
            spot = next(iter(self._chains.spots(wait.site)), None)
            statement = spot.statement if spot is not None else None
            block = spot.block if spot is not None else None
            if spot is None or statement is None or block is None or not _is_alone(spot, statement):
                return
            unit = unit_of(block, statement)
            if len(unit) == len(block) and spot.is_in_loop:
                self.reasons.append("the wait is all that its loop does: it may wait for more than this run shows")
                return
            try:
                edits += layout.removed(spot, unit)
            except NoPlaceError:
                return
            lines.append(statement.lineno)
        yield Variant(f"remove line {' and '.join(map(str, lines))}", tuple(dict.fromkeys(edits)), len(lines))


def _is_alone(spot: Spot, statement: ast.stmt) -> bool:
    """Tell whether a call, or a check around it, is all of its statement."""
    if not isinstance(statement, ast.Expr | ast.Assign):
        return False
    node: ast.expr = statement.value
    while node is not spot.node:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            node = node.args[0]
        else:
            return False
    return True
