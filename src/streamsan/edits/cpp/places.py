"""Where in the tree a place is: the statement, the block around it, the function, and the call itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from streamsan.edits.code_place import CodePlace

Body = Function | Lambda


class CppPlace(CodePlace, frozen=True, kw_only=True):
    """A place in a function of C++."""

    BODIES = (Function, Lambda)

    statement: Statement | None
    block: Block | None

    @property
    def parent(self) -> object:
        """What the statement stands in: a block, or the `if` or loop whose body it is without braces."""
        index = next((number for number, node in enumerate(self.path) if node is self.statement), len(self.path))
        return self.path[index - 1]

    def span_of(self, node: Statement) -> Span:
        return node.span

    def statements(self, block: Block) -> Sequence[Statement]:
        return block.body

    @property
    def call(self) -> Expression | None:
        return next(
            (node for node in reversed(self.path) if isinstance(node, Call | Launch) and node.span == self.span), None
        )


def find(unit: Unit, span: Span) -> CppPlace | None:
    """Return the place of a span, None where it is in no function's body, or in one that could not be read.

    What a macro makes outside functions has no place: the file has the macro's invocation there, and no statement.
    """
    if unit.expansions and _is_made(unit, span):
        return None
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
    return _place(path, span)


def _is_made(unit: Unit, span: Span) -> bool:
    """Tell whether a span begins or ends where an invocation does that stands for declarations."""
    return any(span.file == each.file and (span[1:3] == each[1:3] or span[3:] == each[3:]) for each in unit.expansions)


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


def _place(path: list[object], span: Span) -> CppPlace | None:
    bodies = [index for index, node in enumerate(path) if isinstance(node, Function | Lambda)]
    if not bodies:
        return None
    last = path[-1]
    if isinstance(last, Block) and (span.line, span.end_column) == (last.span.end_line, last.span.end_column):
        # What ends a block before its brace ends it before the scope's end.
        leaving = last.body[-1] if last.body and _leaves(last.body[-1]) else None
        whole = (*path, leaving) if leaving is not None else tuple(path)
        return CppPlace(span=span, path=whole, statement=leaving, block=last)
    for index in range(len(path) - 1, bodies[0], -1):
        statement, parent = path[index], path[index - 1]
        if not isinstance(statement, Statement) or isinstance(statement, Block) or not isinstance(parent, Statement):
            continue
        if isinstance(parent, Block) or any(statement is each for each in bodies_of(parent)):
            block = parent if isinstance(parent, Block) else None
            return CppPlace(span=span, path=tuple(path), statement=statement, block=block)
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


def loops_around(place: CppPlace) -> list[CppPlace]:
    """Return the places of the loops of its function that a place is in, the outermost first."""
    begin = next(number for number, node in enumerate(place.path) if node is place.body)
    found = []
    for node, parent in zip(place.path[begin + 1 :], place.path[begin:], strict=False):
        is_loop = isinstance(node, For | RangeFor | While | DoWhile)
        if node is place.statement and not is_loop:
            break
        if is_loop and isinstance(parent, Block):
            found.append(place.at(parent, node))
    return found


def classes_of(unit: Unit) -> dict[str, Class]:
    """Return the classes of a unit by name."""
    return {node.name: node for node in unit.declarations if isinstance(node, Class)}
