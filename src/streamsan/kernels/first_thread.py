"""What the first thread of a kernel surely touches: the first element behind a pointer parameter, if it must.

The body is followed for the thread whose every index is 0. An offset counts as 0 only when it is built from indices,
literals and sizes alone: anything that comes from a scalar parameter, a structure, a template's parameter, constant
memory or a load is unknown, unless it is multiplied by an index. Conditions must be decided by such values; a range
guard (`i < n`) is taken to hold. Where anything is unsure, nothing is claimed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.cuda_images import is_image
from streamsan.kernels.thread_numbers import At, Value
from streamsan.kernels.thread_values import ThreadValues, TooMuchError, Touched, macro_may_leave

_JUMPS: Final = frozenset({"Goto", "Label", "UnparsedStatement", "Switch", "Try"})


class _Leaves(Exception):  # noqa: N818
    """The first thread leaves the function here, with this value."""

    def __init__(self, value: Value) -> None:
        self.value = value


class _Breaks(Exception):  # noqa: N818
    """The first thread leaves the loop's iteration here."""


def surely_touched(
    function: tree.Function, functions: dict[str, list[tree.Function]], macros: dict[str, tree.Macro]
) -> Touched:
    """Return the pointer parameters of a kernel whose first element every launch touches."""
    found = Touched()
    if function.body is None:
        return found
    known: dict[str, Value] = {p.name: At(p.name) if _leads_to_memory(p.type) else None for p in function.parameters}
    bounds = {name for name, value in known.items() if value is None}
    walk = _FirstThread(functions, macros, found, known, bounds, 0)
    try:
        walk.run(function.body)
    except TooMuchError:
        return Touched()
    return found


def _leads_to_memory(of: tree.Type) -> bool:
    return is_image(of) or (of.pointers == 1 and not of.array and not of.function)


class _FirstThread(ThreadValues):
    """One function, for thread 0 of block 0: its statements."""

    def run(self, body: tree.Block) -> Value:
        """Follow a body; return what the function returns."""
        try:
            self.block(body)
        except _Leaves as left:
            return left.value
        except _Breaks:
            return None
        return None

    def follow(self, function: tree.Function, known: dict[str, Value], bounds: set[str]) -> Value:
        """Follow the body of a function that is called; return what it returns."""
        assert function.body is not None
        walk = _FirstThread(self.functions, self.macros, self.found, known, bounds, self.level + 1)
        walk.steps = self.steps
        result = walk.run(function.body)
        self.steps = walk.steps
        return result

    def last_value(self, node: tree.StatementExpression) -> Value:
        value: Value = None
        for part in node.body.body:
            if isinstance(part, tree.ExpressionStatement):
                self.step()
                value = self.value(part.expression)
            else:
                self.statement(part)
                value = None
        return value

    def block(self, node: tree.Block) -> None:
        for part in node.body:
            self.statement(part)

    def statement(self, node: tree.Statement) -> None:
        self.step()
        if isinstance(node, tree.Block):
            self.block(node)
        elif isinstance(node, tree.ExpressionStatement):
            self.value(node.expression)
        elif isinstance(node, tree.Variable):
            self._variable(node)
        elif isinstance(node, tree.If):
            self._if(node)
        elif isinstance(node, tree.For):
            for part in node.init:
                self.statement(part)
            self._loop(node, node.condition, node.body)
        elif isinstance(node, tree.While):
            self._loop(node, node.condition, node.body)
        elif isinstance(node, tree.DoWhile):
            self._loop(node, None, node.body)
        elif isinstance(node, tree.Return):
            value = self.value(node.value) if node.value is not None else None
            if self.sure:
                raise _Leaves(value)
        elif isinstance(node, tree.Break | tree.Continue):
            if self.sure:
                raise _Breaks
        else:  # a switch, a jump, text that nobody could read: it may lead anywhere
            self.forget(node)
            self.sure = False

    def _variable(self, node: tree.Variable) -> None:
        value: Value = None
        self.bounds.discard(node.name)
        given = [*([] if node.initializer is None else [node.initializer]), *(node.arguments or ())]
        if node.type.reference:
            for part in given:
                self.place(part)
        elif node.device != "shared" and not node.static:
            values = [self.value(part) for part in given]
            if len(values) == 1 and not node.type.array:
                value = values[0]
                if value is None and self.is_bound(given[0]):
                    self.bounds.add(node.name)
        self.known[node.name] = value
        for name in node.bindings:
            self.known[name] = None

    def _if(self, node: tree.If) -> None:
        if node.init is not None:
            self.statement(node.init)
        guard = node.otherwise is None
        truth = self.truth(node.condition, guard)
        if truth is True:
            self.statement(node.then)
        elif truth is False:
            if node.otherwise is not None:
                self.statement(node.otherwise)
        else:
            self._unsure([part for part in (node.then, node.otherwise) if part is not None])

    def _unsure(self, parts: list[tree.Statement]) -> None:
        """Parts that may or may not run: what they assign is unknown, and they may leave."""
        for part in parts:
            self.forget(part)
            if _may_leave(part, self.macros):
                self.sure = False

    def _loop(self, node: tree.Statement, condition: tree.Expression | None, body: tree.Statement) -> None:
        truth = True if condition is None else self.truth(condition, True)
        if truth is True:
            leaves = _may_leave(body, self.macros)
            with suppress(_Breaks):
                self.statement(body)
            # Later iterations may leave where the first one did not.
            self.sure = self.sure and not leaves
        elif truth is None and (_may_leave(body, self.macros) or _waits(condition)):
            self.sure = False
        if truth is not False:
            self.forget(node)


def _may_leave(node: tree.Statement, macros: dict[str, tree.Macro]) -> bool:
    """Tell whether a part may end the function or a loop around it."""
    for part in nodes(node):
        if isinstance(part, tree.Return | tree.Break | tree.Continue) or type(part).__name__ in _JUMPS:
            return True
        if isinstance(part, tree.Call) and isinstance(part.callee, tree.Name):
            macro = macros.get(part.callee.name)
            if (macro is not None and macro_may_leave(macro)) or part.callee.name in ("__trap", "asm", "exit"):
                return True
    return False


def _waits(condition: tree.Expression | None) -> bool:
    """Tell whether a loop's condition reads memory: what follows may be ordered by whoever writes it."""
    return any(
        isinstance(part, tree.Index)
        or (isinstance(part, tree.Unary) and part.operator == "*")
        or (isinstance(part, tree.Member) and part.arrow)
        or (
            isinstance(part, tree.Call)
            and isinstance(part.callee, tree.Name)
            and part.callee.name.startswith(("atomic", "__ld"))
        )
        for part in nodes(condition)
    )
