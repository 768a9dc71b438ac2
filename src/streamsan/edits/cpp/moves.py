"""Statements that are moved behind others, or taken out: releases, records of events, waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamsan.cuda_syntax.tree import Block, ExpressionStatement, Function, Return, Statement
from streamsan.cuda_syntax.tree import Variable as Declaration
from streamsan.edits.cpp.calls import Chains
from streamsan.edits.cpp.groups import Group, groups_at, is_plain_call, releases_something
from streamsan.edits.cpp.insertion import Layout, NoPlaceError
from streamsan.edits.cpp.names import HandleNames
from streamsan.edits.cpp.scope import names_in_statement
from streamsan.edits.cpp.spots import Spot, at_statement, child_of
from streamsan.edits.variant import Variant
from streamsan.findings.finding import Edit
from streamsan.order.facts import Operation


class Moves:
    """Writes steps that change where statements stand."""

    def __init__(self, chains: Chains, layout: Layout, names: HandleNames) -> None:
        self._chains = chains
        self._layout = layout
        self._names = names
        self._main = chains.unit.file
        self.reasons: list[str] = []

    def behind(self, what: Operation, last: Operation) -> Iterator[Variant]:
        """Yield an operation moved behind another: in its block, in one around it, or where its caller calls it."""
        lasts = [spot for spot in self._chains.spots(last.site) if spot is not None]
        spots = [spot for spot in self._chains.spots(what.site) if spot is not None]
        for spot in spots:
            if _is_end(spot):
                yield from self._scope_extended(spot, lasts)
                continue
            found = list(groups_at(spot))
            if not found and spot.statement is not None:
                self.reasons.append(f"line {spot.statement.span.line} does more than what would be moved")
            for group in found:
                for other in lasts:
                    yield from self._moved(spot, group, other)
        if not any(_meet(spot, other) for spot in spots for other in lasts):
            self.reasons.append("it would be moved from one function into another that does not call it")

    def _moved(self, spot: Spot, group: Group, last: Spot) -> Iterator[Variant]:
        """Yield a group of statements behind what holds `last`, in the group's block or in one around it."""
        for block in group.blocks:
            target = child_of(last, block)
            if target is None:
                continue
            own = child_of(at_statement(spot, group.block, group.statements[0]), block)
            if own is None or (target is not own and target.span[1:3] < own.span[1:3]):
                continue
            if target is own and (block is group.block or target in group.statements):
                continue
            after = at_statement(spot, block, target)
            if block is not group.block:
                hidden = [name for name in group.names if not self._names.scope(after).has(name)]
                if hidden:
                    self.reasons.append(f"`{hidden[0]}` is not visible behind line {target.span.end_line}")
                    continue
            try:
                edits = self._layout.moved(group.statements, target)
            except NoPlaceError as error:
                self.reasons.append(str(error))
                continue
            first, end = group.statements[0].span.line, group.statements[-1].span.end_line
            lines = f"line {first}" if first == end else f"lines {first} to {end}"
            yield Variant(f"move {lines} behind line {target.span.end_line}", tuple(edits))

    def _scope_extended(self, spot: Spot, lasts: Sequence[Spot]) -> Iterator[Variant]:
        """Yield the end of a scope, where destructors run, moved behind a use in the block around it."""
        inner = spot.block
        if inner is None:
            return
        index = next(number for number, node in enumerate(spot.path) if node is inner)
        outer = spot.path[index - 1] if index else None
        if not isinstance(outer, Block) or spot.statement is not None:
            name = spot.body.name if isinstance(spot.body, Function) else "the lambda"
            what = f"`{name}` ends" if spot.body.body is inner else f"the block of line {inner.span.line} ends"
            self.reasons.append(f"the memory lives until {what}, and what owns it would have to outlive that")
            return
        for last in lasts:
            target = child_of(last, outer)
            if target is None or target.span[1:3] <= inner.span[1:3]:
                continue
            begin = next(number for number, each in enumerate(outer.body) if each is inner)
            end = next(number for number, each in enumerate(outer.body) if each is target)
            moved, rest = outer.body[begin + 1 : end + 1], outer.body[end + 1 :]
            declared = {each.name for each in moved if isinstance(each, Declaration)}
            hidden = {each.name for each in inner.body if isinstance(each, Declaration)}
            needed = next((name for each in rest for name in names_in_statement(each) if name in declared), None)
            if needed is not None or any(name in hidden for each in moved for name in names_in_statement(each)):
                self.reasons.append(f"the scope that ends in line {inner.span.end_line} cannot be longer: `{needed}`")
                continue
            try:
                edits = self._layout.extended(inner, target)
            except NoPlaceError as error:
                self.reasons.append(str(error))
                continue
            summary = f"the scope that ends in line {inner.span.end_line} ends behind line {target.span.end_line}"
            yield Variant(summary, tuple(edits))

    def removal(self, waits: Sequence[Operation]) -> Iterator[Variant]:
        """Yield the removal of waits, each a statement of its own in a function that does more."""
        edits: list[Edit] = []
        lines = []
        for wait in waits:
            spots = self._chains.spots(wait.site)
            spot = spots[0] if spots else None
            if spot is None or spot.call is None or not _is_alone(spot):
                self.reasons.append("the wait is not a statement of its own")
                return
            reason = _guards(spot, len(spots) > 1) or (
                "the wait is in a header" if spot.span.file != self._main else ""
            )
            if reason:
                self.reasons.append(reason)
                return
            try:
                edits += self._layout.removed(spot)
            except NoPlaceError as error:
                self.reasons.append(str(error))
                return
            lines.append(spot.span.line)
        yield Variant(f"remove line {' and '.join(map(str, lines))}", tuple(dict.fromkeys(edits)), len(lines))


def _is_end(spot: Spot) -> bool:
    """Tell whether a place is the closing brace of a block, where destructors run."""
    block = spot.block
    return block is not None and spot.span[3:5] == block.span[3:5]


def _meet(first: Spot, second: Spot) -> bool:
    return any(isinstance(node, Block) and second.inside(node) for node in first.path)


def _is_alone(spot: Spot) -> bool:
    """Tell whether a call, or a check around it, is all of its statement."""
    statement = spot.statement
    return isinstance(statement, ExpressionStatement) and is_plain_call(statement, spot.call)


def _guards(spot: Spot, called: bool) -> str:
    """Return why a wait stays although nothing in this program needs it: others may use what it is part of."""
    body = spot.body
    if isinstance(body, Function) and (body.destructor or "~" in body.name):
        return "the wait is part of a destructor, which does not know who used the object"
    statements: list[Statement] = body.body.body if body.body is not None else []
    if len(statements) == 1 and spot.statement is statements[0]:
        return "the wait is all that its function does"
    if called and _ends_something(spot):
        return "the wait stands before the end of what a function that is called from elsewhere does"
    return ""


def _ends_something(spot: Spot) -> bool:
    """Tell whether a free, a destruction or the end of the function comes right behind a statement."""
    block = spot.block
    if block is None or spot.statement is None:
        return True
    index = next(number for number, each in enumerate(block.body) if each is spot.statement)
    following = block.body[index + 1] if index + 1 < len(block.body) else None
    return following is None or isinstance(following, Return) or releases_something(following)
