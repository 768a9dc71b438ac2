"""Declarations: variables, aliases, namespaces, templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from streamsan.cuda_syntax import (
    class_definitions,
    constructor_calls,
    declarators,
    function_definitions,
    operator_nodes,
    repairs,
    tree,
)
from streamsan.cuda_syntax.context import Context
from streamsan.cuda_syntax.lowering import declare, expression, is_declaration, statement
from streamsan.cuda_syntax.specifiers import CLASS_NODES, Specifiers, read_specifiers


def local(ctx: Context, node: Node) -> list[tree.Statement]:
    """Declarations in a function body."""
    if node.has_error and node.type in ("declaration", "type_definition"):
        for child in node.children:
            if child.is_error and ctx.text(child).strip(" ;,"):
                ctx.problem(ctx.span(child), ctx.brief(child))
                break
    if node.type == "function_definition" and node.child_by_field_name("type") is None:
        return repairs.macro_with_block(ctx, node)
    return declare(ctx, node)


def _linkage(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    body, language = node.child_by_field_name("body"), node.child_by_field_name("value")
    if body is None:
        return []
    inner = ctx.copy(c_linkage=language is not None and ctx.text(language) == '"C"')
    if body.type == "declaration_list":
        return repairs.contents(inner, body, "file")
    return declare(inner, body, templates)


def _alias(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    named, of = node.child_by_field_name("name"), node.child_by_field_name("type")
    if named is None or of is None:
        return []
    name = ctx.text(named)
    ctx.types.add(name)
    return [tree.Alias(ctx.span(node), ctx.qualified(name), declarators.base_type(ctx, of), templates)]


def _using(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    named = next((c for c in node.named_children if not c.is_extra), None)
    if named is None:
        return []
    single = not any(c.type == "namespace" for c in node.children)
    return [tree.UsingNamespace(ctx.span(node), declarators.name_of(ctx, named)[0], single)]


def _namespace_alias(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    names = [c for c in node.named_children if not c.is_extra]
    if len(names) < 2:
        return []
    target = declarators.squeeze(ctx.text(names[-1]))
    return [tree.Alias(ctx.span(node), ctx.qualified(ctx.text(names[0])), tree.Type(target))]


def _namespace(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    body, named = node.child_by_field_name("body"), node.child_by_field_name("name")
    if body is None:
        return []
    scope = ctx.scope
    inline = any(c.type == "inline" for c in node.children)
    aliases: list[tree.Statement] = []
    if named is not None:
        name = declarators.squeeze(ctx.text(named)).replace("inline", "")
        inner = f"{scope}::{name}" if scope else name
        if not inline:
            scope = inner
        elif scope:  # what it holds is the outer namespace's, and may be named either way
            aliases.append(tree.Alias(ctx.span(node), inner, tree.Type(scope)))
    found = repairs.contents(ctx.copy(scope=scope), body, "file")
    if named is None and not inline:
        _keep_inside(found, scope)
    return [*aliases, *found]


def _keep_inside(declarations: list[tree.Statement], scope: str) -> None:
    """What a namespace without a name declares is its unit's own, as what is `static`."""
    for each in declarations:
        if isinstance(each, tree.Function | tree.Variable) and each.name.rpartition("::")[0] == scope:
            each.static = True


def _template(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    parameters = declarators.template_parameters(ctx, node.child_by_field_name("parameters"))
    found: list[tree.Statement] = []
    for child in node.named_children:
        if child.type in ("template_parameter_list", "requires_clause") or child.is_extra:
            continue
        if is_declaration(child):
            found.extend(declare(ctx, child, [*templates, *parameters]))
        elif child.is_error:
            found.extend(statement(ctx, child))
    return found


def _variables(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    """The variables, and functions without body, that a declaration declares."""
    specifiers = read_specifiers(ctx, node)
    found: list[tree.Statement] = list(specifiers.defined)
    declared_any = False
    cursor_value: tree.Variable | None = None
    children = node.children
    for index, child in enumerate(children):
        if node.field_name_for_child(index) == "declarator":
            declared_any = True
            made = _declared(ctx, node, child, specifiers, templates)
            found.append(made)
            cursor_value = made if isinstance(made, tree.Variable) else None
        elif node.field_name_for_child(index) in ("default_value", "value"):
            if cursor_value is not None:
                cursor_value.initializer = expression(ctx, child)
            elif found and isinstance(found[-1], tree.Function):
                found[-1].virtual = True  # `= 0`
        elif child.type == "bitfield_clause" and cursor_value is not None:
            cursor_value.bits = expression(ctx, child.named_children[-1])
        elif child.type == "pure_virtual_clause" and found and isinstance(found[-1], tree.Function):
            found[-1].virtual = True
    if not declared_any and not specifiers.defined:
        type_node = node.child_by_field_name("type")
        if type_node is not None and type_node.type in (*CLASS_NODES, "enum_specifier"):
            named = type_node.child_by_field_name("name")
            if named is not None:
                ctx.types.add(declarators.name_of(ctx, named)[0])
    elif not declared_any and specifiers.defined and ctx.scope and isinstance(specifiers.defined[-1], tree.Class):
        last = specifiers.defined[-1]
        if last.name.rpartition("::")[2].startswith("<unnamed"):  # an anonymous union: its members are ours
            found.append(tree.Variable(last.span, "", tree.Type(last.name)))
    return found


def _declared(
    ctx: Context, node: Node, declarator: Node, specifiers: Specifiers, templates: list[tree.Parameter]
) -> tree.Variable | tree.Function:
    value: Node | None = None
    given: Node | None = None
    inner = declarator
    if declarator.type == "init_declarator":
        value = declarator.child_by_field_name("value")
        inner = declarator.child_by_field_name("declarator") or declarator
        if value is not None and value.type == "argument_list":
            given, value = value, None
    read = declarators.declare(ctx, inner, specifiers.type)
    if read.parameters is not None and value is not None and ctx.text(value) in ("default", "delete"):
        # `Engine& Engine::operator=(Engine&&) = default;`, which the grammar takes for a variable
        outside = function_definitions.declared_function(ctx, node, read, specifiers, templates)
        outside.defaulted, outside.deleted = ctx.text(value) == "default", ctx.text(value) == "delete"
        return outside
    if read.parameters is not None and value is None and given is None:
        made = constructor_calls.constructor_call(ctx, node, declarator, read, specifiers)
        if made is not None:
            return made
        return function_definitions.declared_function(ctx, node, read, specifiers, templates)
    name = read.name
    scoped = ctx.qualified(name) if not ctx.local and node.type != "field_declaration" else name
    span = ctx.span(declarator) if len(node.children_by_field_name("declarator")) > 1 else ctx.span(node)
    variable = tree.Variable(
        span,
        scoped if not read.bindings else "",
        read.type,
        static=specifiers.static,
        extern=specifiers.extern,
        thread_local=specifiers.thread_local,
        device=specifiers.memory,
        bindings=read.bindings,
        c_linkage=ctx.c_linkage,
    )
    if value is not None:
        variable.initializer = expression(ctx, value)
    elif given is not None:
        variable.arguments = operator_nodes.arguments_of(ctx, given)[0]
    return variable


def range_variable(ctx: Context, node: Node) -> tree.Variable:
    """The variable of a range-based for."""
    specifiers = read_specifiers(ctx, node)
    read = declarators.declare(ctx, node.child_by_field_name("declarator"), specifiers.type)
    return tree.Variable(
        ctx.span(node.child_by_field_name("declarator") or node), read.name, read.type, bindings=read.bindings
    )


def _typedef(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    specifiers = read_specifiers(ctx, node)
    found: list[tree.Statement] = list(specifiers.defined)
    for declarator in node.children_by_field_name("declarator"):
        read = declarators.declare(ctx, declarator, specifiers.type)
        if read.parameters is not None:
            read.type.function = True
        if read.name:
            ctx.types.add(read.name)
            found.append(tree.Alias(ctx.span(node), ctx.qualified(read.name), read.type))
    return found


HANDLERS: Final[dict[str, Callable[[Context, Node, list[tree.Parameter]], list[tree.Statement]]]] = {
    "declaration": _variables,
    "field_declaration": _variables,
    "function_definition": function_definitions.function_definition,
    "template_declaration": _template,
    "namespace_definition": _namespace,
    "linkage_specification": _linkage,
    "type_definition": _typedef,
    "alias_declaration": _alias,
    "using_declaration": _using,
    "namespace_alias_definition": _namespace_alias,
    **dict.fromkeys(CLASS_NODES, class_definitions.class_definition),
    "enum_specifier": class_definitions.enum_definition,
}
"""for `lowering.DECLARATIONS`"""
