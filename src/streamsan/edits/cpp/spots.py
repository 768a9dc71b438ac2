"""Where in the tree a place is: the statement, the block around it, the function, and the call itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamsan.cuda_syntax.tree import (
    Block,
    Break,
    Call,
    Case,
    Class,
    Continue,
    DoWhile,
    Expression,
    ExpressionStatement,
    For,
    Function,
    Goto,
    If,
    Label,
    Lambda,
    Launch,
    RangeFor,
    Return,
    Span,
    Statement,
    Switch,
    Unary,
    Unit,
    UnparsedStatement,
    While,
)
from streamsan.cuda_syntax.walk import parts

Body = Function | Lambda


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A place in a function. `path` leads from the outermost node around it to the innermost."""

    span: Span
    path: tuple[object, ...]
    statement: Statement | None
    """the statement at the place; None at the closing brace of `block`"""
    parent: Statement | None
    """what the statement stands in: a block, or the `if` or loop whose body it is without braces"""
    body: Body
    """the function or lambda that it is in"""

    @property
    def block(self) -> Block | None:
        """The block that the statement is one of, None for a body without braces."""
        return self.parent if isinstance(self.parent, Block) else None

    @property
    def call(self) -> Expression | None:
        """The call at the place."""
        for node in reversed(self.path):
            if isinstance(node, Call | Launch) and node.span == self.span:
                return node
        return None

    def inside(self, node: object) -> bool:
        """Tell whether the place is in a node."""
        return any(each is node for each in self.path)


def find(unit: Unit, span: Span) -> Spot | None:
    """Return the spot of a span, None where it is in no function's body, or in one that could not be read."""
    path: list[object] = []
    node: object = unit.declarations
    while True:
        inner = [child for child in parts(node) if _holds(child, span)]
        if not inner:
            break
        node = min(inner, key=_extent)
        path.append(node)
    if any(isinstance(each, UnparsedStatement) for each in path):
        return None
    return _spot(path, span)


def _holds(node: object, span: Span) -> bool:
    # A label's span runs over the statement that it stands before, which is its neighbour in the tree.
    if isinstance(node, Case | Label):
        return False
    own = getattr(node, "span", None)
    if not isinstance(own, Span) or own.file != span.file:
        return isinstance(node, list)
    return (own.line, own.column) <= (span.line, span.column) and (span.end_line, span.end_column) <= (
        own.end_line,
        own.end_column,
    )


def _extent(node: object) -> tuple[int, int]:
    span = getattr(node, "span", None)
    if not isinstance(span, Span):
        return (1 << 30, 0)
    return span.end_line - span.line, span.end_column - span.column if span.end_line == span.line else 0


def _spot(path: list[object], span: Span) -> Spot | None:
    bodies = [index for index, node in enumerate(path) if isinstance(node, Function | Lambda)]
    if not bodies:
        return None
    last = path[-1]
    if isinstance(last, Block) and (span.line, span.end_column) == (last.span.end_line, last.span.end_column):
        body = path[bodies[-1]]
        assert isinstance(body, Function | Lambda)
        # What ends a block before its brace ends it before the scope's end.
        if last.body and _leaves(last.body[-1]):
            return Spot(span, (*path, last.body[-1]), last.body[-1], last, body)
        return Spot(span, tuple(path), None, last, body)
    for index in range(len(path) - 1, bodies[0], -1):
        statement, parent = path[index], path[index - 1]
        if not isinstance(statement, Statement) or isinstance(statement, Block) or not isinstance(parent, Statement):
            continue
        if isinstance(parent, Block) or any(statement is each for each in bodies_of(parent)):
            body = path[max(each for each in bodies if each < index)]
            assert isinstance(body, Function | Lambda)
            return Spot(span, tuple(path), statement, parent, body)
    return None


def _leaves(statement: Statement) -> bool:
    if isinstance(statement, ExpressionStatement):
        return isinstance(statement.expression, Unary) and statement.expression.operator == "throw"
    return isinstance(statement, Return | Break | Continue | Goto)


def bodies_of(statement: Statement) -> Iterator[Statement]:
    """Yield the statements that an `if`, a loop or a switch controls."""
    if isinstance(statement, If):
        yield statement.then
        if statement.otherwise is not None:
            yield statement.otherwise
    elif isinstance(statement, For | RangeFor | While | DoWhile | Switch):
        yield statement.body


def child_of(spot: Spot, block: Block) -> Statement | None:
    """Return the statement of a block that a spot is in."""
    for index, node in enumerate(spot.path[:-1]):
        following = spot.path[index + 1]
        if node is block and isinstance(following, Statement):
            return following
    return None


def at_statement(spot: Spot, block: Block, statement: Statement) -> Spot:
    """Return the place of a statement of a block that is around a spot."""
    index = next(number for number, node in enumerate(spot.path) if node is block)
    path = (*spot.path[: index + 1], statement)
    body = next(node for node in reversed(path[: index + 1]) if isinstance(node, Function | Lambda))
    return Spot(statement.span, path, statement, block, body)


def loops_around(spot: Spot) -> list[Spot]:
    """Return the places of the loops of its function that a spot is in, the outermost first."""
    begin = next(number for number, node in enumerate(spot.path) if node is spot.body)
    found = []
    for index in range(begin + 1, len(spot.path)):
        node, parent = spot.path[index], spot.path[index - 1]
        if node is spot.statement and not isinstance(node, For | RangeFor | While | DoWhile):
            break
        if isinstance(node, For | RangeFor | While | DoWhile) and isinstance(parent, Block):
            found.append(Spot(node.span, spot.path[: index + 1], node, parent, spot.body))
    return found


def classes_of(unit: Unit) -> dict[str, Class]:
    """Return the classes of a unit by name."""
    return {node.name: node for node in unit.declarations if isinstance(node, Class)}
