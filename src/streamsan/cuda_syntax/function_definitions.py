"""Functions: with bodies, which are lowered when they are first read, and without."""

from __future__ import annotations

from tree_sitter import Node

from streamsan.cuda_syntax import declarators, lowering, operator_nodes, tree
from streamsan.cuda_syntax.context import Context
from streamsan.cuda_syntax.repairs import block, contents
from streamsan.cuda_syntax.specifiers import Specifiers, read_specifiers


def declared_function(
    ctx: Context, node: Node, read: declarators.Declarator, specifiers: Specifiers, templates: list[tree.Parameter]
) -> tree.Function:
    """A function as its declarator says, without its body."""
    parameters, variadic = declarators.parameters(ctx, read.parameters)
    returns = read.type
    if read.trailing is not None:
        described = next((c for c in read.trailing.named_children if c.type == "type_descriptor"), None)
        returns = declarators.descriptor(ctx, described) if described is not None else returns
    name = ctx.qualified(read.name)
    last = read.name.rpartition("::")[2]
    owner = name[: -len(last)].removesuffix("::").rpartition("::")[2]
    no_type = node.child_by_field_name("type") is None
    constructor = no_type and bool(owner) and last == owner
    return tree.Function(
        ctx.span(node),
        name,
        parameters,
        returns,
        None,
        templates=templates,
        specialization=read.template_arguments,
        kernel=specifiers.kernel,
        device_only=specifiers.device and not specifiers.host,
        static=specifiers.static,
        virtual=specifiers.virtual,
        constructor=constructor,
        destructor=read.destructor,
        variadic=variadic,
        c_linkage=ctx.c_linkage,
    )


def function_definition(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    """A function with its body; bodies without errors are lowered when they are first read."""
    specifiers = read_specifiers(ctx, node)
    declarator = node.child_by_field_name("declarator")
    read = declarators.declare(ctx, declarator, specifiers.type)
    if read.parameters is None and read.function_node is None:
        return [*specifiers.defined, lowering.unparsed_statement(ctx, node)]
    made = declared_function(ctx, node, read, specifiers, templates)
    test = _test_macro(ctx, node, read)
    if test:
        made.name, made.parameters = ctx.qualified(test), []
        made.constructor = False
    for child in node.children:
        kind = child.type
        if kind == "default_method_clause":
            made.defaulted = True
        elif kind == "delete_method_clause":
            made.deleted = True
        elif kind == "pure_virtual_clause":
            made.virtual = True
        elif kind == "field_initializer_list":
            made.initializers = _initializers(ctx, child)
        elif kind == "try_statement" and node.child_by_field_name("body") is None:
            made.body = tree.Block(ctx.span(child), lowering.statement(ctx.copy(local=True), child))
    body = node.child_by_field_name("body")
    if body is not None:
        made.body = _body(ctx, body)
        if made.kernel and not body.named_children and _commented(ctx, body):
            # `{ // kernel code }`: the body was left out, which is not the same as a kernel that does nothing
            made.body = tree.Block(ctx.span(body), [tree.UnparsedStatement(ctx.span(body), "...", [])])
    return [*specifiers.defined, made]


def _body(ctx: Context, body: Node) -> tree.Block:
    """The body of a function."""
    inner = ctx.copy(local=True)
    if body.type == "try_statement":
        return tree.Block(ctx.span(body), lowering.statement(inner, body))
    if body.has_error or body.start_byte in inner.hollow:
        return block(inner, body)
    inner.depth = 0  # it is lowered on its own, from the top of the stack
    return tree.Block.lazy(ctx.span(body), lambda: contents(inner, body, "block"))


def _commented(ctx: Context, body: Node) -> bool:
    first, last = ctx.code.origin(body.start_byte), ctx.code.origin(max(body.start_byte, body.end_byte - 1))
    inside = ctx.code.source.text[first + 1 : last]
    return "//" in inside or "/*" in inside


def _test_macro(ctx: Context, node: Node, read: declarators.Declarator) -> str:
    """`TEST(Suite, Case) { ... }`: the name such a function goes by; empty for a real function."""
    if node.child_by_field_name("type") is not None or ctx.local or "::" in read.name or read.parameters is None:
        return ""
    name = read.name
    owner = ctx.scope.rpartition("::")[2]
    if not name.isidentifier() or (not name.isupper() and not (name.replace("_", "").isupper() and len(name) > 2)):
        return ""
    if name == owner or name in ctx.types:
        return ""
    return f"{name}({' '.join(ctx.text(read.parameters).strip('() ').split())})"


def _initializers(ctx: Context, node: Node) -> list[tuple[str, list[tree.Expression], bool]]:
    found: list[tuple[str, list[tree.Expression], bool]] = []
    for child in node.named_children:
        if child.type != "field_initializer":
            continue
        named = [c for c in child.named_children if not c.is_extra]
        if not named:
            continue
        name = declarators.name_of(ctx, named[0])[0]
        arguments: list[tree.Expression] = []
        braced = False
        for part in named[1:]:
            if part.type == "argument_list":
                arguments = operator_nodes.arguments_of(ctx, part)[0]
            elif part.type == "initializer_list":
                braced = True
                listed = lowering.expression(ctx, part)
                arguments = listed.items if isinstance(listed, tree.InitList) else [listed]
        found.append((name, arguments, braced))
    return found
