"""Expressions with operands: operators, calls and launches, members, casts, `new` and `delete`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from streamsan.cuda_syntax import declarators, tree
from streamsan.cuda_syntax.context import BUILTIN_TYPES, MAX_DEPTH, Context
from streamsan.cuda_syntax.lowering import expression, named_parts, optional, recognised, unparsed

_NAMED_CASTS: Final = frozenset(("static_cast", "const_cast", "reinterpret_cast", "dynamic_cast"))


def _unary(ctx: Context, node: Node) -> tree.Expression:
    operator, operand = node.child_by_field_name("operator"), node.child_by_field_name("argument")
    if operator is None or operand is None:
        return unparsed(ctx, node)
    symbol = _ALTERNATIVE.get(operator.type, operator.type)
    value = expression(ctx, operand)
    if symbol == "-" and isinstance(value, tree.Literal_) and type(value.value) in (int, float):
        return tree.Literal_(ctx.span(node), -value.value)  # type: ignore[operator]
    return tree.Unary(ctx.span(node), symbol, value)


def _update(ctx: Context, node: Node) -> tree.Expression:
    operator, operand = node.child_by_field_name("operator"), node.child_by_field_name("argument")
    if operator is None or operand is None:
        return unparsed(ctx, node)
    postfix = operator.start_byte > operand.start_byte
    return tree.Unary(ctx.span(node), ("post" if postfix else "") + operator.type, expression(ctx, operand))


_ALTERNATIVE: Final = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "bitand": "&",
    "bitor": "|",
    "xor": "^",
    "compl": "~",
    "not_eq": "!=",
    "and_eq": "&=",
    "or_eq": "|=",
    "xor_eq": "^=",
}


def _binary(ctx: Context, node: Node) -> tree.Expression:
    """Left-deep chains (`a + b + ...`, `out << a << ...`) are walked, not recursed into."""
    chain: list[tuple[Node, str, Node]] = []
    current = node
    while current.type in ("binary_expression", "comma_expression"):
        left, right = current.child_by_field_name("left"), current.child_by_field_name("right")
        if left is None or right is None:
            return unparsed(ctx, node)
        operator = current.child_by_field_name("operator")
        symbol = "," if operator is None else _ALTERNATIVE.get(operator.type, operator.type)
        chain.append((current, symbol, right))
        current = left
    value = expression(ctx, current)
    if len(chain) + ctx.depth > MAX_DEPTH:
        children = [value, *(expression(ctx, right) for _, _, right in reversed(chain))]
        return tree.Unparsed(ctx.span(node), ctx.brief(node), children)
    for whole, symbol, right in reversed(chain):
        value = tree.Binary(ctx.span(whole), symbol, value, expression(ctx, right))
    return value


def _assignment(ctx: Context, node: Node) -> tree.Expression:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None:
        return unparsed(ctx, node)
    symbol = "=" if operator is None else _ALTERNATIVE.get(operator.type, operator.type)
    return tree.Assign(ctx.span(node), symbol, expression(ctx, left), expression(ctx, right))


def _conditional(ctx: Context, node: Node) -> tree.Expression:
    condition = node.child_by_field_name("condition")
    then, otherwise = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
    if condition is None or otherwise is None:
        return unparsed(ctx, node)
    first = expression(ctx, condition)
    return tree.Conditional(
        ctx.span(node), first, first if then is None else expression(ctx, then), expression(ctx, otherwise)
    )


def _throw(ctx: Context, node: Node) -> tree.Expression:
    named = named_parts(node)
    operand = expression(ctx, named[0]) if named else tree.Literal_(ctx.span(node), None)
    return tree.Unary(ctx.span(node), "throw", operand)


def _await(ctx: Context, node: Node) -> tree.Expression:
    named = named_parts(node)
    return tree.Unparsed(ctx.span(node), ctx.brief(node), [expression(ctx, child) for child in named])


def arguments_of(ctx: Context, node: Node | None) -> tuple[list[tree.Expression], bool]:
    """The arguments in an argument list, and whether it has holes."""
    found: list[tree.Expression] = []
    holes = False
    expecting = False
    if node is None:
        return found, True
    for child in node.children:
        kind = child.type
        if kind == ",":
            holes = holes or expecting
            expecting = True
        elif kind == "(" or kind == "{":
            continue
        elif kind == ")" or kind == "}":
            holes = holes or (expecting and bool(found) and kind == ")")
        elif child.is_error or child.is_missing:
            holes = True
            found.extend(recognised(ctx, child))
            expecting = False
        elif kind == "identifier" and ctx.text(child) in ("...", "___"):
            holes = True
            expecting = False
        elif not child.is_extra:
            found.append(expression(ctx, child))
            expecting = False
    return found, holes


def _call(ctx: Context, node: Node) -> tree.Expression:
    function = node.child_by_field_name("function")
    if function is None:
        return unparsed(ctx, node)
    listed = node.child_by_field_name("arguments")
    launch = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
    span = ctx.span(node)
    if launch is not None:
        configuration, _ = _configuration(ctx, launch)
        given, _ = arguments_of(ctx, listed)
        return tree.Launch(span, expression(ctx, function), configuration, given)
    given, holes = arguments_of(ctx, listed)
    if function.type == "primitive_type" or function.type == "sized_type_specifier":
        target = declarators.base_type(ctx, function)
        if len(given) == 1:
            return tree.Cast(span, target, given[0])
        return tree.InitList(span, target, given, [None] * len(given))
    if function.type == "template_function" and len(given) == 1:
        name, template = declarators.name_of(ctx, function)
        if name in _NAMED_CASTS and template and isinstance(template[0], tree.Type):
            return tree.Cast(span, template[0], given[0])
    if function.type == "identifier" and len(given) == 1 and ctx.text(function) in BUILTIN_TYPES:
        name = ctx.text(function)
        if name not in ("vector", "string", "dim3"):
            return tree.Cast(span, tree.Type(name), given[0])
    return tree.Call(span, expression(ctx, function), given, holes)


def _configuration(ctx: Context, node: Node) -> tuple[list[tree.Expression], bool]:
    found: list[tree.Expression] = []
    holes = False
    for child in node.named_children:
        if child.is_error or child.is_missing:
            holes = True
        elif not child.is_extra:
            found.append(expression(ctx, child))
    return found, holes


def _member(ctx: Context, node: Node) -> tree.Expression:
    """Chains `a.b().c()...` recurse through calls, so they count against the depth."""
    owner, field = node.child_by_field_name("argument"), node.child_by_field_name("field")
    if owner is None or field is None:
        return unparsed(ctx, node)
    operator = node.child_by_field_name("operator")
    arrow = operator is not None and operator.type.startswith("->")
    name, arguments = declarators.name_of(ctx, field)
    return tree.Member(ctx.span(node), expression(ctx, owner), name, arrow, arguments)


def _index(ctx: Context, node: Node) -> tree.Expression:
    base = node.child_by_field_name("argument")
    listed = node.child_by_field_name("indices")
    given = [] if listed is None else [expression(ctx, c) for c in named_parts(listed)]
    if base is None or not given:
        return unparsed(ctx, node)
    value = expression(ctx, base)
    span = ctx.span(node)
    index = given[0] if len(given) == 1 else tree.Unparsed(span, ctx.brief(node), given)
    return tree.Index(span, value, index)


def _cast(ctx: Context, node: Node) -> tree.Expression:
    target, operand = node.child_by_field_name("type"), node.child_by_field_name("value")
    if target is None or operand is None:
        return unparsed(ctx, node)
    return tree.Cast(ctx.span(node), declarators.descriptor(ctx, target), expression(ctx, operand))


def _sizeof(ctx: Context, node: Node) -> tree.Expression:
    target, operand = node.child_by_field_name("type"), node.child_by_field_name("value")
    span = ctx.span(node)
    if target is not None:
        return tree.SizeOf(span, declarators.descriptor(ctx, target), None)
    if operand is None:
        return unparsed(ctx, node)
    if any(c.type == "..." for c in node.children):
        return tree.PackSize(span, ctx.text(operand).strip("() "))
    inner = operand
    while inner.type == "parenthesized_expression" and len(named_parts(inner)) == 1:
        inner = named_parts(inner)[0]
    if inner.type == "identifier" and ctx.is_type(ctx.text(inner)):
        return tree.SizeOf(span, tree.Type(ctx.text(inner)), None)
    if inner.type in ("template_function", "primitive_type", "sized_type_specifier"):
        name, arguments = declarators.name_of(ctx, inner)
        return tree.SizeOf(span, tree.Type(name, arguments), None)
    return tree.SizeOf(span, None, expression(ctx, operand))


def _new(ctx: Context, node: Node) -> tree.Expression:
    base = declarators.base_type(ctx, node.child_by_field_name("type"))
    declarator = node.child_by_field_name("declarator")
    size: tree.Expression | None = None
    if declarator is not None:
        base = declarators.copy_type(base)
        if declarator.type == "new_declarator":
            size = optional(ctx, declarator.child_by_field_name("length"))
        else:
            base = declarators.declare(ctx, declarator, base).type
            if base.array:
                size = base.array.pop(0)
    listed = node.child_by_field_name("arguments")
    given = [] if listed is None else arguments_of(ctx, listed)[0]
    return tree.New(ctx.span(node), base, given, size)


def _fold(ctx: Context, node: Node) -> tree.Expression:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    symbols = [operator.type] if operator is not None else [c.type for c in node.children if not c.is_named]
    symbol = next((_ALTERNATIVE.get(each, each) for each in symbols if each not in ("(", ")", "...")), ",")
    sides = [expression(ctx, side) for side in (left, right) if side is not None and side.type != "..."]
    if not sides:
        return unparsed(ctx, node)
    if len(sides) == 1:
        return tree.Fold(ctx.span(node), symbol, sides[0])
    first, last = sides
    if isinstance(first, tree.Literal_) or not isinstance(last, tree.Literal_):
        first, last = last, first
    return tree.Fold(ctx.span(node), symbol, first, last)


def _delete(ctx: Context, node: Node) -> tree.Expression:
    named = named_parts(node)
    if not named:
        return unparsed(ctx, node)
    return tree.Delete(ctx.span(node), expression(ctx, named[-1]), any(c.type == "[" for c in node.children))


HANDLERS: Final[dict[str, Callable[[Context, Node], tree.Expression]]] = {
    "unary_expression": _unary,
    "pointer_expression": _unary,
    "update_expression": _update,
    "binary_expression": _binary,
    "comma_expression": _binary,
    "assignment_expression": _assignment,
    "conditional_expression": _conditional,
    "throw_statement": _throw,
    "co_await_expression": _await,
    "fold_expression": _fold,
    "call_expression": _call,
    "field_expression": _member,
    "subscript_expression": _index,
    "cast_expression": _cast,
    "sizeof_expression": _sizeof,
    "new_expression": _new,
    "delete_expression": _delete,
}
"""for `lowering.EXPRESSIONS`"""
