"""Macro bodies: kept as trees with the parameters as names."""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.context import Context, Shared, parse
from streamsan.cuda_syntax.lowering import expression
from streamsan.cuda_syntax.preprocess import MacroText
from streamsan.cuda_syntax.repairs import contents
from streamsan.cuda_syntax.source_code import Code
from streamsan.cuda_syntax.text_repairs import joined_strings, types_of
from streamsan.patterns.late_pattern import late_pattern

_STRINGIZE = late_pattern(r"(?<!#)#\s*([^\W\d]\w*)")
_PASTE = late_pattern(r"(\w*)\s*##\s*(\w*)")
_MAX_BODY: Final = 100_000


def lower_all(shared: Shared) -> dict[str, tree.Macro]:
    """All macros of a unit."""
    return {name: lower(text, shared) for name, text in shared.macros.items()}


def lower(text: MacroText, shared: Shared) -> tree.Macro:
    """One macro, its body an expression if it parses as one, else statements, else neither."""
    made = tree.Macro(
        text.name,
        text.parameters,
        text.text,
        None,
        None,
        text.source.span(text.start, text.end),
        text.variadic,
        text.redefined,
    )
    body = text.text
    if not body:
        made.statements = []
        return made
    if len(body) > _MAX_BODY:
        return made
    parts, shown = _body(text)
    value = _wrapped("auto x = (", parts, "\n);", text, shown)
    node = _find(value, "parenthesized_expression")
    if node is not None:
        made.expression = _quiet_expression(value, node, shared)
        return made
    value = _wrapped("void f() {", parts, "\n;}", text, shown)
    node = _find(value, "compound_statement")
    if node is not None:
        made.statements = _quiet_statements(value, node, shared)
    return made


def _body(text: MacroText) -> tuple[str, str]:
    """The body for the grammar, and as it is shown: `#x` is a string, `a##b` one identifier, length kept."""
    parameters = set(text.parameters or ())
    shown = text.text
    code = shown
    if "#" in code:

        def paste(match: re.Match[str]) -> str:
            return "_" * len(match[0]) if match[1] or match[2] else match[0]

        def stringize(match: re.Match[str]) -> str:
            if text.parameters is None or (match[1] not in parameters and match[1] != "__VA_ARGS__"):
                return match[0]
            return '"' + " " * (len(match[0]) - 2) + '"'

        while "##" in code:
            replaced = _PASTE.sub(paste, code, count=1)
            if replaced == code:
                break
            code = replaced
        code = _STRINGIZE.sub(stringize, code)
    return joined_strings(types_of(code)), shown


def _wrapped(before: str, body: str, after: str, text: MacroText, shown: str) -> tuple[Code, Node]:
    code = Code.pieces(
        text.source, [(text.body, before, True), (text.body, body, False), (text.body + len(body), after, True)]
    )
    code.shown = before + shown + after
    return code, parse(code.data)


def _find(value: tuple[Code, Node], kind: str) -> Node | None:
    _, root = value
    if root.has_error or len(root.named_children) != 1:
        return None
    if kind == "compound_statement":
        return root.named_children[0].child_by_field_name("body")
    declarator = root.named_children[0].child_by_field_name("declarator")
    found = None if declarator is None else declarator.child_by_field_name("value")
    return found if found is not None and found.type == kind and found.end_byte == len(value[0].data) - 1 else None


def _quiet_expression(value: tuple[Code, Node], node: Node, shared: Shared) -> tree.Expression:
    ctx = Context(value[0], shared, local=True)
    return expression(ctx, node)


def _quiet_statements(value: tuple[Code, Node], node: Node, shared: Shared) -> list[tree.Statement]:
    ctx = Context(value[0], shared, local=True)
    found = contents(ctx, node, "block")
    if len(found) == 1 and isinstance(found[0], tree.DoWhile) and _is_false(found[0].condition):
        inner = found[0].body
        return inner.body if isinstance(inner, tree.Block) else [inner]
    if len(found) == 1 and isinstance(found[0], tree.ExpressionStatement):
        only = found[0].expression
        if isinstance(only, tree.StatementExpression):
            return only.body.body
    return found


def _is_false(condition: tree.Expression) -> bool:
    return isinstance(condition, tree.Literal_) and not condition.value
