"""Names, literals, braces, lambdas: the expressions that operators stand between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from tree_sitter import Node

from streamsan.cuda_syntax import declarators, literals, tree
from streamsan.cuda_syntax.context import Context
from streamsan.cuda_syntax.lowering import expression, named_parts, optional, unparsed
from streamsan.cuda_syntax.repairs import block


def _identifier(ctx: Context, node: Node) -> tree.Expression:
    text = ctx.code.shown[node.start_byte : node.end_byte]
    if text == "NULL" or text == "__null":
        return tree.Literal_(ctx.span(node), None)
    if text == "..." or text == "___":
        return tree.Unparsed(ctx.span(node), "...", [])
    return tree.Name(ctx.span(node), text)


def _qualified(ctx: Context, node: Node) -> tree.Expression:
    name, arguments = declarators.name_of(ctx, node)
    return tree.Name(ctx.span(node), name, arguments, declarators.scope_arguments(ctx, node))


def _number(ctx: Context, node: Node) -> tree.Expression:
    value, suffix = literals.number(ctx.text(node))
    span = ctx.span(node)
    if value is None:
        return tree.Unparsed(span, ctx.brief(node), [])
    if suffix:
        return tree.Call(span, tree.Name(span, f'operator""{suffix}'), [tree.Literal_(span, value)])
    return tree.Literal_(span, value)


def _string(ctx: Context, node: Node) -> tree.Expression:
    value, suffix = literals.string(ctx.text(node))
    span = ctx.span(node)
    if suffix:
        return tree.Call(span, tree.Name(span, f'operator""{suffix}'), [tree.Literal_(span, value)])
    return tree.Literal_(span, value)


def _concatenated(ctx: Context, node: Node) -> tree.Expression:
    words: list[str] = []
    parts = [expression(ctx, child) for child in named_parts(node)]
    for part in parts:
        if isinstance(part, tree.Literal_):
            words.append(str(part.value))
        elif isinstance(part, tree.Name):  # a macro: `"%" PRIu64`
            words.append(part.name)
        else:
            return tree.Unparsed(ctx.span(node), ctx.brief(node), parts)
    return tree.Literal_(ctx.span(node), "".join(words))


def _character(ctx: Context, node: Node) -> tree.Expression:
    return tree.Literal_(ctx.span(node), literals.character(ctx.text(node)))


def _user_defined(ctx: Context, node: Node) -> tree.Expression:
    named = named_parts(node)
    if not named:
        return unparsed(ctx, node)
    span = ctx.span(node)
    suffix = ctx.text(named[-1])
    return tree.Call(span, tree.Name(span, f'operator""{suffix}'), [expression(ctx, named[0])])


def _true(ctx: Context, node: Node) -> tree.Expression:
    return tree.Literal_(ctx.span(node), True)


def _false(ctx: Context, node: Node) -> tree.Expression:
    return tree.Literal_(ctx.span(node), False)


def _null(ctx: Context, node: Node) -> tree.Expression:
    return tree.Literal_(ctx.span(node), None)


def _parenthesized(ctx: Context, node: Node) -> tree.Expression:
    named = named_parts(node)
    if len(named) != 1:
        return unparsed(ctx, node)
    inner = named[0]
    if inner.type == "compound_statement":
        return tree.StatementExpression(ctx.span(node), block(ctx, inner))
    return expression(ctx, inner)


def _init_list(ctx: Context, node: Node) -> tree.Expression:
    return braces(ctx, node, None)


def braces(ctx: Context, node: Node, of: tree.Type | None) -> tree.InitList:
    """`{a, .x = b}`, of a type when one stands before it."""
    items: list[tree.Expression] = []
    names: list[str | None] = []
    for child in named_parts(node):
        if child.type == "initializer_pair":
            designator, value = child.child_by_field_name("designator"), child.child_by_field_name("value")
            if value is None:
                continue
            items.append(expression(ctx, value))
            is_field = designator is not None and designator.type == "field_designator"
            names.append(ctx.text(designator).lstrip(". ") if designator is not None and is_field else None)
        else:
            items.append(expression(ctx, child))
            names.append(None)
    return tree.InitList(ctx.span(node), of, items, names)


def _compound_literal(ctx: Context, node: Node) -> tree.Expression:
    target, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    if target is None or value is None:
        return unparsed(ctx, node)
    listed = braces(ctx, value, declarators.base_type(ctx, target))
    listed.span = ctx.span(node)
    return listed


def _lambda(ctx: Context, node: Node) -> tree.Expression:
    default: Literal["", "=", "&"] = ""
    captures: list[tuple[str, bool, tree.Expression | None]] = []
    listed = node.child_by_field_name("captures")
    if listed is not None:
        reference = False
        for child in listed.children:
            kind = child.type
            if kind == "lambda_default_capture":
                default = "&" if ctx.text(child) == "&" else "="
            elif kind == "&":
                reference = True
            elif kind in (",", "[", "]"):
                reference = False
            elif kind == "lambda_capture_initializer":
                captures.append(_init_capture(ctx, child))
            elif child.is_named and not child.is_extra:
                captures.append((ctx.text(child).strip("&*. \n"), reference or ctx.text(child)[:1] == "&", None))
    declarator = node.child_by_field_name("declarator")
    parameter_list = None if declarator is None else declarator.child_by_field_name("parameters")
    given, _ = declarators.parameters(ctx, parameter_list)
    body = node.child_by_field_name("body")
    inner = ctx.copy(local=True)
    if body is None:
        return unparsed(ctx, node)
    return tree.Lambda(ctx.span(node), default, captures, given, block(inner, body))


def _init_capture(ctx: Context, node: Node) -> tuple[str, bool, tree.Expression | None]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    name = "" if left is None else ctx.text(left)
    reference = any(c.type == "&" for c in node.children) or name.startswith("&")
    return name.strip("&. "), reference, optional(ctx, right)


def _pack(ctx: Context, node: Node) -> tree.Expression:
    """`args...`: the pattern, which the interpreter expands when it knows the pack."""
    pattern = node.child_by_field_name("pattern")
    return tree.Unary(ctx.span(node), "...", expression(ctx, pattern)) if pattern is not None else unparsed(ctx, node)


def _extension(ctx: Context, node: Node) -> tree.Expression:
    named = named_parts(node)
    return expression(ctx, named[0]) if len(named) == 1 else unparsed(ctx, node)


HANDLERS: Final[dict[str, Callable[[Context, Node], tree.Expression]]] = {
    "identifier": _identifier,
    "field_identifier": _identifier,
    "type_identifier": _identifier,
    "namespace_identifier": _identifier,
    "this": _identifier,
    "primitive_type": _identifier,
    "qualified_identifier": _qualified,
    "template_function": _qualified,
    "dependent_name": _qualified,
    "template_type": _qualified,
    "operator_name": _qualified,
    "destructor_name": _qualified,
    "number_literal": _number,
    "string_literal": _string,
    "raw_string_literal": _string,
    "concatenated_string": _concatenated,
    "char_literal": _character,
    "user_defined_literal": _user_defined,
    "true": _true,
    "false": _false,
    "null": _null,
    "parenthesized_expression": _parenthesized,
    "initializer_list": _init_list,
    "compound_literal_expression": _compound_literal,
    "lambda_expression": _lambda,
    "parameter_pack_expansion": _pack,
    "extension_expression": _extension,
}
"""for `lowering.EXPRESSIONS`"""
