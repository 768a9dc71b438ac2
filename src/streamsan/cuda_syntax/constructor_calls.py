"""Where the grammar and C++ disagree: constructor calls read as function declarations, or as comparisons."""

from __future__ import annotations

from tree_sitter import Node

from streamsan.cuda_syntax import declarators, tree
from streamsan.cuda_syntax.context import Context
from streamsan.cuda_syntax.lowering import expression
from streamsan.cuda_syntax.specifiers import Specifiers


def constructor_call(
    ctx: Context, node: Node, declarator: Node, read: declarators.Declarator, specifiers: Specifiers
) -> tree.Variable | None:
    """`Buffer b(n, s);` as the variable it is; None when it is a function declaration.

    Parameters that can only be types (built-in, known, `const T&`, `T name` with both plain) make it a function.
    """
    parameters = read.parameters
    if (
        parameters is None
        or declarator.type != "function_declarator"
        or specifiers.kernel
        or specifiers.virtual
        or specifiers.extern
    ):
        return None
    if node.type == "field_declaration" or node.child_by_field_name("type") is None or "::" in read.name:
        return None
    if ctx.scope and not ctx.local and node.parent is not None and node.parent.type == "field_declaration_list":
        return None
    if read.name_node is None or read.name_node.type != "identifier" or read.type.name == "void":
        return None
    if any(c.type in ("trailing_return_type", "noexcept", "type_qualifier") for c in declarator.children):
        return None
    if specifiers.device or specifiers.host:
        return None
    listed = [c for c in parameters.children if c.is_named and not c.is_extra]
    if not listed or any(c.type == "..." for c in parameters.children):
        return None
    arguments: list[tree.Expression] = []
    for child in listed:
        if child.type != "parameter_declaration":
            return None
        value = _as_argument(ctx, child)
        if value is None:
            return None
        arguments.append(value)
    if not ctx.local and any(isinstance(a, tree.Binary | tree.Index | tree.Call | tree.Unparsed) for a in arguments):
        return None
    undecided = not ctx.local or all(isinstance(a, tree.Name) and "::" in a.name for a in arguments)
    span = ctx.span(node)
    name = read.name if ctx.local else ctx.qualified(read.name)
    return tree.Variable(
        span,
        name,
        read.type,
        arguments=arguments,
        static=specifiers.static,
        thread_local=specifiers.thread_local,
        device=specifiers.memory,
        maybe_function=undecided,
    )


def _as_argument(ctx: Context, node: Node) -> tree.Expression | None:
    """A parameter declaration read as the expression it may be; None if it can only be a parameter."""
    type_node = node.child_by_field_name("type")
    if type_node is None or any(c.type in ("type_qualifier", "storage_class_specifier") for c in node.children):
        return None
    if type_node.type not in ("type_identifier", "qualified_identifier", "template_type"):
        return None
    name, arguments = declarators.name_of(ctx, type_node)
    first = tree.Name(ctx.span(type_node), name, arguments)
    declarator = node.child_by_field_name("declarator")
    if ctx.is_type(name) or type_node.type == "template_type" or arguments:
        return _temporary(ctx, first, declarator)
    if declarator is None:
        return first
    span = ctx.span(node)
    if declarator.type in ("pointer_declarator", "reference_declarator"):
        inner = declarator.child_by_field_name("declarator") or declarators.last_named(declarator)
        if inner is not None and inner.type == "function_declarator":
            right = _size_of(ctx, inner)
            return None if right is None else tree.Binary(span, declarator.children[0].type, first, right)
        if inner is None or inner.type != "identifier":
            return None
        return tree.Binary(span, declarator.children[0].type, first, expression(ctx, inner))
    if declarator.type == "abstract_array_declarator":
        size = declarator.child_by_field_name("size")
        return None if size is None else tree.Index(span, first, expression(ctx, size))
    if declarator.type == "abstract_function_declarator":
        return _temporary(ctx, first, declarator)
    if declarator.type == "parenthesized_declarator":
        inner = declarators.first_declarator(declarator)
        if inner is not None and inner.type == "identifier":
            return tree.Call(span, first, [expression(ctx, inner)])
    return None


def _temporary(ctx: Context, type: tree.Name, declarator: Node | None) -> tree.Expression | None:
    """Return `std::vector<int>(rows * columns)`, which may be the type of a function that returns a vector."""
    if declarator is None or declarator.type != "abstract_function_declarator":
        return None
    parameters = declarator.child_by_field_name("parameters")
    listed = [] if parameters is None else [c for c in parameters.children if c.is_named and not c.is_extra]
    given = [_as_argument(ctx, c) if c.type == "parameter_declaration" else None for c in listed]
    values = [value for value in given if value is not None]
    return tree.Call(ctx.span(declarator), type, values) if len(values) == len(given) else None


def _size_of(ctx: Context, node: Node) -> tree.Expression | None:
    """Return `sizeof(T)`, which the grammar takes for a function's name and its parameters."""
    name = node.child_by_field_name("declarator")
    given, _ = declarators.parameters(ctx, node.child_by_field_name("parameters"))
    if name is None or ctx.text(name) != "sizeof" or len(given) != 1 or given[0].name:
        return None
    return tree.SizeOf(ctx.span(node), given[0].type, None)


def compared_declarations(value: tree.Expression) -> list[tree.Variable]:
    """`std::counting_semaphore<2> places(1), more(2);` as the variables they are; none where it is an expression.

    As an expression it compares, and throws the answer away.
    """
    first, *others = _listed(value)
    if not isinstance(first, tree.Binary) or first.operator != ">" or not isinstance(first.left, tree.Binary):
        return []
    compared, argument = first.left.left, first.left.right
    if first.left.operator != "<" or not isinstance(compared, tree.Name) or "::" not in compared.name:
        return []
    type = tree.Type(compared.name, [argument])
    made = [_declared(each, type) for each in (first.right, *others)]
    found = [each for each in made if each is not None]
    return found if len(found) == len(made) and not isinstance(first.right, tree.Name) else []


def _declared(value: tree.Expression, type: tree.Type) -> tree.Variable | None:
    """Return `places(1)`, `places{1}` or `places` as a variable of a type."""
    if isinstance(value, tree.Name):
        return tree.Variable(value.span, value.name, type)
    if isinstance(value, tree.Call) and isinstance(value.callee, tree.Name):
        return tree.Variable(value.span, value.callee.name, type, arguments=value.arguments)
    if isinstance(value, tree.InitList) and value.type is not None:
        name, value.type = value.type.name, None
        return tree.Variable(value.span, name, type, initializer=value)
    return None


def _listed(value: tree.Expression) -> list[tree.Expression]:
    """Return what commas separate."""
    if isinstance(value, tree.Binary) and value.operator == ",":
        return [*_listed(value.left), *_listed(value.right)]
    return [value]
