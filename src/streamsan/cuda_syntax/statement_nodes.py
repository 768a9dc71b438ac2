"""Statements: from the grammar's nodes to the tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from streamsan.cuda_syntax import declaration_nodes, declarators, lowering, tree
from streamsan.cuda_syntax.constructor_calls import compared_declarations
from streamsan.cuda_syntax.context import Context
from streamsan.cuda_syntax.lowering import expression, named_parts, optional, statement, unparsed_statement
from streamsan.cuda_syntax.repairs import block, contents


def one(ctx: Context, node: Node | None) -> tree.Statement | None:
    """The statement of a node, several as a block."""
    if node is None:
        return None
    found = statement(ctx, node)
    return found[0] if len(found) == 1 else tree.Block(ctx.span(node), found)


def _body(ctx: Context, node: Node | None, owner: Node) -> tree.Statement:
    return one(ctx, node) or tree.Block(ctx.span(owner), [])


# -- handlers ----------------------------------------------------------------------------------------------------------


def _expression(ctx: Context, node: Node) -> list[tree.Statement]:
    parts = named_parts(node)
    if not parts:
        return []
    if len(parts) > 1 or (node.has_error and any(c.is_error for c in node.children)):
        return [unparsed_statement(ctx, node)]
    value = expression(ctx, parts[0])
    return [*compared_declarations(value)] or [tree.ExpressionStatement(ctx.span(node), value)]


def condition_of(ctx: Context, node: Node | None, owner: Node) -> tuple[list[tree.Statement], tree.Expression]:
    """What a condition declares, and its value: `(init; value)`, `(T x = value)`, `(value)`."""
    declared: list[tree.Statement] = []
    if node is None:
        return declared, tree.Literal_(ctx.span(owner), True)
    initializer = node.child_by_field_name("initializer")
    if initializer is not None:
        for child in initializer.named_children:
            declared.extend(statement(ctx, child))
    value = node.child_by_field_name("value")
    if value is None:
        parts = named_parts(node)
        if len(parts) != 1:
            return declared, lowering.unparsed(ctx, node)
        value = parts[0]
    if value.type == "declaration":
        variables = declaration_nodes.local(ctx, value)
        declared.extend(variables)
        names = [v for v in variables if isinstance(v, tree.Variable)]
        name = names[-1].name if names else ""
        return declared, tree.Name(ctx.span(value), name)
    return declared, expression(ctx, value)


def _first(ctx: Context, node: Node, declared: list[tree.Statement]) -> tree.Statement | None:
    if not declared:
        return None
    return declared[0] if len(declared) == 1 else tree.Block(ctx.span(node), declared)


def _if(ctx: Context, node: Node) -> list[tree.Statement]:
    declared, condition = condition_of(ctx, node.child_by_field_name("condition"), node)
    then = _body(ctx, node.child_by_field_name("consequence"), node)
    otherwise: tree.Statement | None = None
    alternative = node.child_by_field_name("alternative")
    if alternative is not None:
        inner = alternative
        if alternative.type == "else_clause":
            parts = named_parts(alternative)
            otherwise = one(ctx, parts[0]) if parts else None
        else:
            otherwise = one(ctx, inner)
    return [tree.If(ctx.span(node), _first(ctx, node, declared), condition, then, otherwise)]


def _for(ctx: Context, node: Node) -> list[tree.Statement]:
    initializer = node.child_by_field_name("initializer")
    init: list[tree.Statement] = []
    if initializer is not None:
        if initializer.type in HANDLERS:
            init = statement(ctx, initializer)
        else:
            init = [tree.ExpressionStatement(ctx.span(initializer), expression(ctx, initializer))]
    condition = node.child_by_field_name("condition")
    value: tree.Expression | None = None
    if condition is not None:
        if condition.type == "declaration":
            extra, value = condition_of(ctx, condition, node)
            init.extend(extra)
        else:
            value = expression(ctx, condition)
    step = optional(ctx, node.child_by_field_name("update"))
    return [tree.For(ctx.span(node), init, value, step, _body(ctx, node.child_by_field_name("body"), node))]


def _range_for(ctx: Context, node: Node) -> list[tree.Statement]:
    ranged = node.child_by_field_name("right")
    body = _body(ctx, node.child_by_field_name("body"), node)
    variable = declaration_nodes.range_variable(ctx, node)
    value = expression(ctx, ranged) if ranged is not None else tree.Literal_(ctx.span(node), None)
    loop = tree.RangeFor(ctx.span(node), variable, value, body)
    initializer = node.child_by_field_name("initializer")
    if initializer is None:
        return [loop]
    before = [s for c in initializer.named_children for s in statement(ctx, c)]
    return [tree.Block(ctx.span(node), [*before, loop])]


def _while(ctx: Context, node: Node) -> list[tree.Statement]:
    declared, condition = condition_of(ctx, node.child_by_field_name("condition"), node)
    body = _body(ctx, node.child_by_field_name("body"), node)
    span = ctx.span(node)
    if not declared:
        return [tree.While(span, condition, body)]
    return [
        tree.For(
            span, [], None, None, tree.Block(span, [*declared, tree.If(span, None, condition, body, tree.Break(span))])
        )
    ]


def _do(ctx: Context, node: Node) -> list[tree.Statement]:
    body = _body(ctx, node.child_by_field_name("body"), node)
    _, condition = condition_of(ctx, node.child_by_field_name("condition"), node)
    return [tree.DoWhile(ctx.span(node), body, condition)]


def _switch(ctx: Context, node: Node) -> list[tree.Statement]:
    declared, value = condition_of(ctx, node.child_by_field_name("condition"), node)
    loop = tree.Switch(ctx.span(node), value, _body(ctx, node.child_by_field_name("body"), node))
    return [tree.Block(ctx.span(node), [*declared, loop])] if declared else [loop]


def _case(ctx: Context, node: Node) -> list[tree.Statement]:
    """The grammar puts the statements after a label into it; here they follow it."""
    value = node.child_by_field_name("value")
    found: list[tree.Statement] = [tree.Case(ctx.span(node), optional(ctx, value))]
    if value is not None and any(c.type == "..." for c in node.children):
        found = [tree.Case(ctx.span(node), lowering.unparsed(ctx, node))]
    after = False
    for child in node.children:
        if child.type == ":":
            after = True
        elif after and child.is_named and not child.is_extra:
            found.extend(statement(ctx, child))
    return found


def _label(ctx: Context, node: Node) -> list[tree.Statement]:
    label = node.child_by_field_name("label")
    found: list[tree.Statement] = [tree.Label(ctx.span(node), "" if label is None else ctx.text(label))]
    for child in node.named_children:
        if child.start_byte > (label.end_byte if label is not None else -1) and not child.is_extra:
            found.extend(statement(ctx, child))
    return found


def _return(ctx: Context, node: Node) -> list[tree.Statement]:
    parts = named_parts(node)
    if len(parts) > 1:
        return [tree.Return(ctx.span(node), lowering.unparsed(ctx, node))]
    return [tree.Return(ctx.span(node), expression(ctx, parts[0]) if parts else None)]


def _goto(ctx: Context, node: Node) -> list[tree.Statement]:
    label = node.child_by_field_name("label")
    return [tree.Goto(ctx.span(node), "" if label is None else ctx.text(label))]


def _try(ctx: Context, node: Node) -> list[tree.Statement]:
    body = node.child_by_field_name("body")
    handlers: list[tree.Block] = []
    for child in node.named_children:
        if child.type != "catch_clause":
            continue
        caught = child.child_by_field_name("body")
        if caught is None:
            continue
        handler = block(ctx, caught)
        given, _ = declarators.parameters(ctx, child.child_by_field_name("parameters"))
        variables: list[tree.Statement] = [tree.Variable(handler.span, p.name, p.type) for p in given if p.name]
        handlers.append(tree.Block(handler.span, [*variables, *handler.body]))
    return [
        tree.Try(ctx.span(node), block(ctx, body) if body is not None else tree.Block(ctx.span(node), []), handlers)
    ]


def _attributed(ctx: Context, node: Node) -> list[tree.Statement]:
    found: list[tree.Statement] = []
    for child in node.named_children:
        if child.type not in ("attribute_declaration", "attribute_specifier") and not child.is_extra:
            found.extend(statement(ctx, child))
    return found


def _nothing(ctx: Context, node: Node) -> list[tree.Statement]:
    return []


def _error(ctx: Context, node: Node) -> list[tree.Statement]:
    text = ctx.text(node).strip()
    if text and not text.strip(";,"):
        return []
    if text.strip("; ") == "...":
        return [tree.UnparsedStatement(ctx.span(node), "...", [])]
    return [unparsed_statement(ctx, node)]


HANDLERS: Final[dict[str, Callable[[Context, Node], list[tree.Statement]]]] = {
    "compound_statement": lambda ctx, node: [tree.Block(ctx.span(node), contents(ctx, node, "block"))],
    "expression_statement": _expression,
    "declaration": declaration_nodes.local,
    "type_definition": declaration_nodes.local,
    "alias_declaration": declaration_nodes.local,
    "using_declaration": declaration_nodes.local,
    "namespace_alias_definition": declaration_nodes.local,
    "static_assert_declaration": _nothing,
    "struct_specifier": declaration_nodes.local,
    "class_specifier": declaration_nodes.local,
    "union_specifier": declaration_nodes.local,
    "enum_specifier": declaration_nodes.local,
    "function_definition": declaration_nodes.local,
    "template_declaration": declaration_nodes.local,
    "linkage_specification": declaration_nodes.local,
    "namespace_definition": declaration_nodes.local,
    "init_statement": _attributed,
    "if_statement": _if,
    "for_statement": _for,
    "for_range_loop": _range_for,
    "while_statement": _while,
    "do_statement": _do,
    "switch_statement": _switch,
    "case_statement": _case,
    "labeled_statement": _label,
    "return_statement": _return,
    "co_return_statement": _return,
    "break_statement": lambda ctx, node: [tree.Break(ctx.span(node))],
    "continue_statement": lambda ctx, node: [tree.Continue(ctx.span(node))],
    "goto_statement": _goto,
    "throw_statement": lambda ctx, node: [tree.ExpressionStatement(ctx.span(node), expression(ctx, node))],
    "try_statement": _try,
    "attributed_statement": _attributed,
    "attribute_declaration": _nothing,
    "preproc_call": _nothing,
    "gnu_asm_expression": _nothing,
    "ERROR": _error,
    "comment": _nothing,
    ";": _nothing,
}
"""for `lowering.STATEMENTS`"""
