"""From the grammar's nodes to the tree: what a node stands for is looked up by its type.

The levels of the grammar hold each other: a type has expressions in it, an expression statements, a statement
declarations, a declaration types. Each level fills its table (`unit` puts them together) and comes back here for what
stands inside of its nodes, so that no level has to know those above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from streamsan.cuda_syntax.context import MAX_DEPTH, Context
from streamsan.cuda_syntax.tree import (
    Expression,
    ExpressionStatement,
    Parameter,
    Statement,
    Unparsed,
    UnparsedStatement,
)

EXPRESSIONS: Final[dict[str, Callable[[Context, Node], Expression]]] = {}
TYPE_NAMES: Final[dict[str, Callable[[Context, Node], Expression]]] = {}
"""nodes that are a type, where an expression is wanted (a template's argument)"""
STATEMENTS: Final[dict[str, Callable[[Context, Node], list[Statement]]]] = {}
DECLARATIONS: Final[dict[str, Callable[[Context, Node, list[Parameter]], list[Statement]]]] = {}
"""called with the parameters of the templates around the node"""
_SILENT: Final = frozenset(
    "static_assert_declaration friend_declaration concept_definition template_instantiation "  # noqa: SIM905
    "attribute_declaration access_specifier comment preproc_call module_declaration export_declaration "
    "import_declaration requires_clause global_module_fragment_declaration "
    "private_module_fragment_declaration consteval_block_declaration ;".split()
)
"""declarations that say nothing here"""
_WORTH_KEEPING: Final = frozenset(
    ("call_expression", "assignment_expression", "new_expression", "delete_expression", "update_expression")
)
_TOO_DEEP: Final = "nested too deeply to follow"


def named_parts(node: Node) -> list[Node]:
    """The named children of a node, without comments."""
    return [c for c in node.named_children if not c.is_extra]


# -- expressions -------------------------------------------------------------------------------------------------------


def expression(ctx: Context, node: Node) -> Expression:
    """The expression a node stands for; Unparsed, with a Problem where something was lost, if it is none we know."""
    handler = EXPRESSIONS.get(node.type) or TYPE_NAMES.get(node.type)
    if handler is None:
        return unparsed(ctx, node)
    if ctx.depth >= MAX_DEPTH:
        ctx.problem(ctx.span(node), _TOO_DEEP)
        return Unparsed(ctx.span(node), ctx.brief(node), [])
    ctx.depth += 1
    try:
        return handler(ctx, node)
    finally:
        ctx.depth -= 1


def optional(ctx: Context, node: Node | None) -> Expression | None:
    """The expression, if there is one."""
    return None if node is None else expression(ctx, node)


def unparsed(ctx: Context, node: Node) -> Expression:
    """What was recognised inside something that is no expression we know, in order."""
    return Unparsed(ctx.span(node), ctx.brief(node), recognised(ctx, node))


def recognised(ctx: Context, node: Node) -> list[Expression]:
    """The outermost calls, launches and assignments inside a node, in order of text."""
    found: list[Expression] = []
    pending = list(reversed(node.children))
    while pending:
        current = pending.pop()
        if not current.child_count:
            continue
        if current.type in _WORTH_KEEPING and not current.is_missing:
            found.append(expression(ctx, current))
        else:
            pending.extend(reversed(current.children))
    return found


# -- statements and declarations ---------------------------------------------------------------------------------------


def statement(ctx: Context, node: Node) -> list[Statement]:
    """The statements a node stands for: several for `int a, b;`, none for `;`."""
    handler = STATEMENTS.get(node.type)
    if handler is None:
        if node.type in EXPRESSIONS:
            return [ExpressionStatement(ctx.span(node), expression(ctx, node))]
        return [unparsed_statement(ctx, node)]
    if ctx.depth >= MAX_DEPTH:
        ctx.problem(ctx.span(node), _TOO_DEEP)
        return [UnparsedStatement(ctx.span(node), ctx.brief(node), [])]
    ctx.depth += 1
    try:
        return handler(ctx, node)
    finally:
        ctx.depth -= 1


def unparsed_statement(ctx: Context, node: Node) -> Statement:
    """A statement that was not understood, with its Problem."""
    ctx.problem(ctx.span(node), ctx.brief(node))
    return UnparsedStatement(ctx.span(node), ctx.brief(node), recognised(ctx, node))


def is_declaration(node: Node) -> bool:
    """Whether a node at file scope is a declaration (not a statement)."""
    return node.type in DECLARATIONS or node.type in _SILENT


def declare(ctx: Context, node: Node, templates: list[Parameter] | None = None) -> list[Statement]:
    """The declarations a node stands for, names qualified by the scope."""
    handler = DECLARATIONS.get(node.type)
    if handler is None:
        return []
    if ctx.depth >= MAX_DEPTH:
        ctx.problem(ctx.span(node), _TOO_DEEP)
        return []
    ctx.depth += 1
    try:
        return handler(ctx, node, templates or [])
    finally:
        ctx.depth -= 1
