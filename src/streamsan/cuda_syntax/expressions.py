"""Expressions: from the grammar's nodes to the tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from tree_sitter import Node

from streamsan.cuda_syntax import literals, statements, types
from streamsan.cuda_syntax.context import BUILTIN_TYPES, MAX_DEPTH, Context
from streamsan.cuda_syntax.tree import (
    Assign,
    Binary,
    Call,
    Cast,
    Conditional,
    Delete,
    Expression,
    Index,
    InitList,
    Lambda,
    Launch,
    Literal_,
    Member,
    Name,
    New,
    SizeOf,
    StatementExpression,
    Type,
    Unary,
    Unparsed,
)

_NAMED_CASTS: Final = frozenset(("static_cast", "const_cast", "reinterpret_cast", "dynamic_cast"))


def expression(ctx: Context, node: Node) -> Expression:
    """The expression a node stands for; Unparsed, with a Problem where something was lost, if it is none we know."""
    handler = _HANDLERS.get(node.type)
    if handler is None:
        return _unknown(ctx, node)
    if ctx.depth >= MAX_DEPTH:
        ctx.problem(ctx.span(node), "nested too deeply to follow")
        return Unparsed(ctx.span(node), ctx.brief(node), [])
    ctx.depth += 1
    try:
        return handler(ctx, node)
    finally:
        ctx.depth -= 1


def _unknown(ctx: Context, node: Node) -> Expression:
    if node.is_error:
        return unparsed(ctx, node)
    if node.type in types.TYPE_NODES:
        read = types.base_type(ctx, node)
        return Name(ctx.span(node), read.name, read.arguments)
    return unparsed(ctx, node)


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


_WORTH_KEEPING: Final = frozenset(
    ("call_expression", "assignment_expression", "new_expression", "delete_expression", "update_expression")
)


def optional(ctx: Context, node: Node | None) -> Expression | None:
    """The expression, if there is one."""
    return None if node is None else expression(ctx, node)


def _named(node: Node) -> list[Node]:
    return [c for c in node.named_children if not c.is_extra]


# -- names and literals ------------------------------------------------------------------------------------------------


def _identifier(ctx: Context, node: Node) -> Expression:
    text = ctx.code.shown[node.start_byte : node.end_byte]
    if text == "NULL" or text == "__null":
        return Literal_(ctx.span(node), None)
    if text == "..." or text == "___":
        return Unparsed(ctx.span(node), "...", [])
    return Name(ctx.span(node), text)


def _qualified(ctx: Context, node: Node) -> Expression:
    name, arguments = types.name_of(ctx, node)
    return Name(ctx.span(node), name, arguments)


def _number(ctx: Context, node: Node) -> Expression:
    value, suffix = literals.number(ctx.text(node))
    span = ctx.span(node)
    if value is None:
        return Unparsed(span, ctx.brief(node), [])
    if suffix:
        return Call(span, Name(span, f'operator""{suffix}'), [Literal_(span, value)])
    return Literal_(span, value)


def _string(ctx: Context, node: Node) -> Expression:
    value, suffix = literals.string(ctx.text(node))
    span = ctx.span(node)
    if suffix:
        return Call(span, Name(span, f'operator""{suffix}'), [Literal_(span, value)])
    return Literal_(span, value)


def _concatenated(ctx: Context, node: Node) -> Expression:
    parts = [expression(ctx, child) for child in _named(node)]
    if all(isinstance(part, Literal_) for part in parts):
        return Literal_(ctx.span(node), "".join(str(part.value) for part in parts if isinstance(part, Literal_)))
    return Unparsed(ctx.span(node), ctx.brief(node), parts)


def _character(ctx: Context, node: Node) -> Expression:
    return Literal_(ctx.span(node), literals.character(ctx.text(node)))


def _user_defined(ctx: Context, node: Node) -> Expression:
    named = _named(node)
    if not named:
        return unparsed(ctx, node)
    span = ctx.span(node)
    suffix = ctx.text(named[-1])
    return Call(span, Name(span, f'operator""{suffix}'), [expression(ctx, named[0])])


def _true(ctx: Context, node: Node) -> Expression:
    return Literal_(ctx.span(node), True)


def _false(ctx: Context, node: Node) -> Expression:
    return Literal_(ctx.span(node), False)


def _null(ctx: Context, node: Node) -> Expression:
    return Literal_(ctx.span(node), None)


# -- operators ---------------------------------------------------------------------------------------------------------


def _parenthesized(ctx: Context, node: Node) -> Expression:
    named = _named(node)
    if len(named) != 1:
        return unparsed(ctx, node)
    inner = named[0]
    if inner.type == "compound_statement":
        return StatementExpression(ctx.span(node), statements.block(ctx, inner))
    return expression(ctx, inner)


def _unary(ctx: Context, node: Node) -> Expression:
    operator, operand = node.child_by_field_name("operator"), node.child_by_field_name("argument")
    if operator is None or operand is None:
        return unparsed(ctx, node)
    symbol = _ALTERNATIVE.get(operator.type, operator.type)
    value = expression(ctx, operand)
    if symbol == "-" and isinstance(value, Literal_) and type(value.value) in (int, float):
        return Literal_(ctx.span(node), -value.value)  # type: ignore[operator]
    return Unary(ctx.span(node), symbol, value)


def _update(ctx: Context, node: Node) -> Expression:
    operator, operand = node.child_by_field_name("operator"), node.child_by_field_name("argument")
    if operator is None or operand is None:
        return unparsed(ctx, node)
    postfix = operator.start_byte > operand.start_byte
    return Unary(ctx.span(node), ("post" if postfix else "") + operator.type, expression(ctx, operand))


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


def _binary(ctx: Context, node: Node) -> Expression:
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
        return Unparsed(ctx.span(node), ctx.brief(node), children)
    for whole, symbol, right in reversed(chain):
        value = Binary(ctx.span(whole), symbol, value, expression(ctx, right))
    return value


def _assignment(ctx: Context, node: Node) -> Expression:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None:
        return unparsed(ctx, node)
    symbol = "=" if operator is None else _ALTERNATIVE.get(operator.type, operator.type)
    return Assign(ctx.span(node), symbol, expression(ctx, left), expression(ctx, right))


def _conditional(ctx: Context, node: Node) -> Expression:
    condition = node.child_by_field_name("condition")
    then, otherwise = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
    if condition is None or otherwise is None:
        return unparsed(ctx, node)
    first = expression(ctx, condition)
    return Conditional(
        ctx.span(node), first, first if then is None else expression(ctx, then), expression(ctx, otherwise)
    )


def _throw(ctx: Context, node: Node) -> Expression:
    named = _named(node)
    operand = expression(ctx, named[0]) if named else Literal_(ctx.span(node), None)
    return Unary(ctx.span(node), "throw", operand)


def _await(ctx: Context, node: Node) -> Expression:
    named = _named(node)
    return Unparsed(ctx.span(node), ctx.brief(node), [expression(ctx, child) for child in named])


# -- calls, members, indices -------------------------------------------------------------------------------------------


def arguments_of(ctx: Context, node: Node | None) -> tuple[list[Expression], bool]:
    """The arguments in an argument list, and whether it has holes."""
    found: list[Expression] = []
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


def _call(ctx: Context, node: Node) -> Expression:
    function = node.child_by_field_name("function")
    if function is None:
        return unparsed(ctx, node)
    listed = node.child_by_field_name("arguments")
    launch = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
    span = ctx.span(node)
    if launch is not None:
        configuration, _ = _configuration(ctx, launch)
        given, _ = arguments_of(ctx, listed)
        return Launch(span, expression(ctx, function), configuration, given)
    given, holes = arguments_of(ctx, listed)
    if function.type == "primitive_type" or function.type == "sized_type_specifier":
        target = types.base_type(ctx, function)
        if len(given) == 1:
            return Cast(span, target, given[0])
        return InitList(span, target, given, [None] * len(given))
    if function.type == "template_function" and len(given) == 1:
        name, template = types.name_of(ctx, function)
        if name in _NAMED_CASTS and template and isinstance(template[0], Type):
            return Cast(span, template[0], given[0])
    if function.type == "identifier" and len(given) == 1 and ctx.text(function) in BUILTIN_TYPES:
        name = ctx.text(function)
        if name not in ("vector", "string", "dim3"):
            return Cast(span, Type(name), given[0])
    return Call(span, expression(ctx, function), given, holes)


def _configuration(ctx: Context, node: Node) -> tuple[list[Expression], bool]:
    found: list[Expression] = []
    holes = False
    for child in node.named_children:
        if child.is_error or child.is_missing:
            holes = True
        elif not child.is_extra:
            found.append(expression(ctx, child))
    return found, holes


def _member(ctx: Context, node: Node) -> Expression:
    """Chains `a.b().c()...` recurse through calls, so they count against the depth."""
    owner, field = node.child_by_field_name("argument"), node.child_by_field_name("field")
    if owner is None or field is None:
        return unparsed(ctx, node)
    operator = node.child_by_field_name("operator")
    arrow = operator is not None and operator.type.startswith("->")
    name, arguments = types.name_of(ctx, field)
    return Member(ctx.span(node), expression(ctx, owner), name, arrow, arguments)


def _index(ctx: Context, node: Node) -> Expression:
    base = node.child_by_field_name("argument")
    listed = node.child_by_field_name("indices")
    given = [] if listed is None else [expression(ctx, c) for c in _named(listed)]
    if base is None or not given:
        return unparsed(ctx, node)
    value = expression(ctx, base)
    span = ctx.span(node)
    index = given[0] if len(given) == 1 else Unparsed(span, ctx.brief(node), given)
    return Index(span, value, index)


# -- casts, sizes, allocation ------------------------------------------------------------------------------------------


def _cast(ctx: Context, node: Node) -> Expression:
    target, operand = node.child_by_field_name("type"), node.child_by_field_name("value")
    if target is None or operand is None:
        return unparsed(ctx, node)
    return Cast(ctx.span(node), types.descriptor(ctx, target), expression(ctx, operand))


def _sizeof(ctx: Context, node: Node) -> Expression:
    target, operand = node.child_by_field_name("type"), node.child_by_field_name("value")
    span = ctx.span(node)
    if target is not None:
        return SizeOf(span, types.descriptor(ctx, target), None)
    if operand is None:
        return unparsed(ctx, node)
    if any(c.type == "..." for c in node.children):
        return Unparsed(span, ctx.brief(node), [])
    inner = operand
    while inner.type == "parenthesized_expression" and len(_named(inner)) == 1:
        inner = _named(inner)[0]
    if inner.type == "identifier" and ctx.is_type(ctx.text(inner)):
        return SizeOf(span, Type(ctx.text(inner)), None)
    if inner.type in ("template_function", "primitive_type", "sized_type_specifier"):
        name, arguments = types.name_of(ctx, inner)
        return SizeOf(span, Type(name, arguments), None)
    return SizeOf(span, None, expression(ctx, operand))


def _new(ctx: Context, node: Node) -> Expression:
    base = types.base_type(ctx, node.child_by_field_name("type"))
    declarator = node.child_by_field_name("declarator")
    size: Expression | None = None
    if declarator is not None:
        base = types.copy_type(base)
        if declarator.type == "new_declarator":
            size = optional(ctx, declarator.child_by_field_name("length"))
        else:
            base = types.declare(ctx, declarator, base).type
            if base.array:
                size = base.array.pop(0)
    listed = node.child_by_field_name("arguments")
    given = [] if listed is None else arguments_of(ctx, listed)[0]
    return New(ctx.span(node), base, given, size)


def _delete(ctx: Context, node: Node) -> Expression:
    named = _named(node)
    if not named:
        return unparsed(ctx, node)
    return Delete(ctx.span(node), expression(ctx, named[-1]), any(c.type == "[" for c in node.children))


# -- braces ------------------------------------------------------------------------------------------------------------


def _init_list(ctx: Context, node: Node) -> Expression:
    return braces(ctx, node, None)


def braces(ctx: Context, node: Node, of: Type | None) -> InitList:
    """`{a, .x = b}`, of a type when one stands before it."""
    items: list[Expression] = []
    names: list[str | None] = []
    for child in _named(node):
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
    return InitList(ctx.span(node), of, items, names)


def _compound_literal(ctx: Context, node: Node) -> Expression:
    target, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    if target is None or value is None:
        return unparsed(ctx, node)
    listed = braces(ctx, value, types.base_type(ctx, target))
    listed.span = ctx.span(node)
    return listed


# -- lambdas -----------------------------------------------------------------------------------------------------------


def _lambda(ctx: Context, node: Node) -> Expression:
    default: Literal["", "=", "&"] = ""
    captures: list[tuple[str, bool, Expression | None]] = []
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
    given, _ = types.parameters(ctx, parameter_list)
    body = node.child_by_field_name("body")
    inner = ctx.copy(local=True)
    if body is None:
        return unparsed(ctx, node)
    return Lambda(ctx.span(node), default, captures, given, statements.block(inner, body))


def _init_capture(ctx: Context, node: Node) -> tuple[str, bool, Expression | None]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    name = "" if left is None else ctx.text(left)
    reference = any(c.type == "&" for c in node.children) or name.startswith("&")
    return name.strip("&. "), reference, optional(ctx, right)


def _pack(ctx: Context, node: Node) -> Expression:
    """`args...`: the pattern, which the interpreter expands when it knows the pack."""
    pattern = node.child_by_field_name("pattern")
    return Unary(ctx.span(node), "...", expression(ctx, pattern)) if pattern is not None else unparsed(ctx, node)


def _extension(ctx: Context, node: Node) -> Expression:
    named = _named(node)
    return expression(ctx, named[0]) if len(named) == 1 else unparsed(ctx, node)


_HANDLERS: Final[dict[str, Callable[[Context, Node], Expression]]] = {
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
    "unary_expression": _unary,
    "pointer_expression": _unary,
    "update_expression": _update,
    "binary_expression": _binary,
    "comma_expression": _binary,
    "assignment_expression": _assignment,
    "conditional_expression": _conditional,
    "throw_statement": _throw,
    "co_await_expression": _await,
    "fold_expression": _await,
    "call_expression": _call,
    "field_expression": _member,
    "subscript_expression": _index,
    "cast_expression": _cast,
    "sizeof_expression": _sizeof,
    "new_expression": _new,
    "delete_expression": _delete,
    "initializer_list": _init_list,
    "compound_literal_expression": _compound_literal,
    "lambda_expression": _lambda,
    "parameter_pack_expansion": _pack,
    "extension_expression": _extension,
}
