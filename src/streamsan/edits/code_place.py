"""A place in a program's text, as the edits of any language see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from msgspec import Struct
from msgspec.structs import replace

from streamsan.cuda_syntax.tree import Span

Node = Any
"""a node of a language's syntax tree"""


class CodePlace(Struct, frozen=True, eq=False, kw_only=True):
    """A place in a function: a call, a statement, or the end of a block."""

    BODIES: ClassVar[tuple[type, ...]]
    """nodes that have code of their own: functions, lambdas, modules"""

    span: Span
    path: tuple[Node, ...]
    """from the outermost node around the place to the innermost"""
    statement: Node | None
    """the statement at the place; None at the closing brace of a block, and in code that is run elsewhere"""
    block: Node | None
    """the block that the statement is one of; None where it is all that an `if` or a loop does"""
    level: int = 0
    """how many calls are between it and the operation, where that is known"""
    at_exit: bool = False
    """the place is the end of a block that runs code when it is left, and code goes into that block"""

    def span_of(self, node: Node) -> Span:
        """Return where a node stands."""
        raise NotImplementedError

    def statements(self, block: Node) -> Sequence[Node]:
        """Return the statements of a block."""
        raise NotImplementedError

    @property
    def call(self) -> Node | None:
        """The call at the place, None where it is something else."""
        raise NotImplementedError

    @property
    def body(self) -> Node:
        """The function, lambda or module that it is in."""
        return next(node for node in reversed(self.path) if isinstance(node, self.BODIES))

    def inside(self, node: Node) -> bool:
        """Tell whether the place is in a node."""
        return any(each is node for each in self.path)

    def child_in(self, block: Node) -> Node | None:
        """Return the statement of a block that the place is in."""
        return next((each for each in self.statements(block) if self.inside(each)), None)

    def at(self, block: Node, statement: Node) -> Self:
        """Return the place of a statement of a block that is around this one."""
        own = self.child_in(block)
        end = next((number for number, each in enumerate(self.path) if each is own), len(self.path))
        path = (*self.path[:end], statement)
        return replace(self, span=self.span_of(statement), path=path, statement=statement, block=block, at_exit=False)

    def following(self) -> Node | None:
        """Return the statement behind that of the place in its block, None where there is none."""
        block = self.statements(self.block) if self.block is not None else ()
        index = next((number for number, each in enumerate(block) if each is self.statement), len(block))
        return block[index + 1] if index + 1 < len(block) else None


class Argument(Struct, frozen=True, eq=False):
    """How a value is written in a call at one level of a chain of calls."""

    place: CodePlace
    text: str
    node: Node | None
    """the expression; None where the text is put together from those of several levels"""
