"""Declarations: variables, functions, aliases, namespaces, templates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from tree_sitter import Node

from streamsan.cuda_syntax import classes, constructors, expressions, repairs, statements, types
from streamsan.cuda_syntax.context import MAX_DEPTH, Context
from streamsan.cuda_syntax.tree import (
    Alias,
    Block,
    Class,
    Expression,
    Function,
    InitList,
    Parameter,
    Statement,
    Type,
    UnparsedStatement,
    UsingNamespace,
    Variable,
)

CLASS_NODES: Final = frozenset(("struct_specifier", "class_specifier", "union_specifier"))
_IGNORED: Final = frozenset(
    "static_assert_declaration concept_definition template_instantiation attribute_declaration access_specifier "  # noqa: SIM905
    "comment preproc_call module_declaration export_declaration import_declaration requires_clause "
    "global_module_fragment_declaration private_module_fragment_declaration consteval_block_declaration ;".split()
)
_HANDLED: Final = frozenset(
    "declaration field_declaration function_definition template_declaration namespace_definition "  # noqa: SIM905
    "linkage_specification type_definition alias_declaration using_declaration namespace_alias_definition "
    "friend_declaration struct_specifier class_specifier union_specifier enum_specifier".split()
)

Memory = Literal["", "device", "constant", "managed", "shared"]


@dataclass(slots=True)
class Specifiers:
    """What stands before a declarator, apart from the type."""

    type: Type
    static: bool = False
    extern: bool = False
    thread_local: bool = False
    virtual: bool = False
    typedef: bool = False
    kernel: bool = False
    host: bool = False
    device: bool = False
    memory: Memory = ""
    defined: list[Statement] = field(default_factory=list)
    """the class or enum whose body stands in the specifiers"""


def anonymous_name(ctx: Context, node: Node) -> str:
    """A name for a class or enum that has none: by its place, so that it is the same wherever it is asked for."""
    span = ctx.span(node)
    return f"<unnamed {span.line}:{span.column}>"


def handles(node: Node) -> bool:
    """Whether a node at file scope is a declaration (not a statement)."""
    return node.type in _HANDLED or node.type in _IGNORED


def declare(ctx: Context, node: Node, templates: list[Parameter] | None = None) -> list[Statement]:
    """The declarations a node stands for, names qualified by the scope."""
    if node.type in _IGNORED:
        return []
    if ctx.depth >= MAX_DEPTH:
        ctx.problem(ctx.span(node), "nested too deeply to follow")
        return []
    ctx.depth += 1
    try:
        return _declare(ctx, node, templates or [])
    finally:
        ctx.depth -= 1


def _declare(ctx: Context, node: Node, templates: list[Parameter]) -> list[Statement]:
    kind = node.type
    if kind in ("declaration", "field_declaration"):
        return variables(ctx, node, templates)
    if kind == "function_definition":
        return function_definition(ctx, node, templates)
    if kind == "template_declaration":
        return _template(ctx, node, templates)
    if kind == "namespace_definition":
        return _namespace(ctx, node)
    if kind == "linkage_specification":
        body = node.child_by_field_name("body")
        if body is None:
            return []
        return body_of(ctx, body) if body.type == "declaration_list" else declare(ctx, body, templates)
    if kind == "type_definition":
        return _typedef(ctx, node)
    if kind == "alias_declaration":
        named, of = node.child_by_field_name("name"), node.child_by_field_name("type")
        if named is None or of is None:
            return []
        name = ctx.text(named)
        ctx.types.add(name)
        return [Alias(ctx.span(node), ctx.qualified(name), types.base_type(ctx, of), templates)]
    if kind == "using_declaration":
        named_child = next((c for c in node.named_children if not c.is_extra), None)
        if named_child is None:
            return []
        single = not any(c.type == "namespace" for c in node.children)
        return [UsingNamespace(ctx.span(node), types.name_of(ctx, named_child)[0], single)]
    if kind == "namespace_alias_definition":
        named_children = [c for c in node.named_children if not c.is_extra]
        if len(named_children) < 2:
            return []
        target = types._squeeze(ctx.text(named_children[-1]))
        return [Alias(ctx.span(node), ctx.qualified(ctx.text(named_children[0])), Type(target))]
    if kind == "friend_declaration":
        return []
    if kind in CLASS_NODES:
        return classes.class_definition(ctx, node, templates)
    if kind == "enum_specifier":
        return classes.enum_definition(ctx, node)
    return []


def local(ctx: Context, node: Node) -> list[Statement]:
    """Declarations in a function body."""
    if node.has_error and node.type in ("declaration", "type_definition"):
        for child in node.children:
            if child.is_error and ctx.text(child).strip(" ;,"):
                ctx.problem(ctx.span(child), ctx.brief(child))
                break
    if node.type == "function_definition" and node.child_by_field_name("type") is None:
        return repairs.macro_with_block(ctx, node)
    return declare(ctx, node)


def body_of(ctx: Context, node: Node) -> list[Statement]:
    """The declarations in a namespace's or linkage specification's braces."""
    if ctx.hollow and (hollow := ctx.hollow.get(node.start_byte)) is not None:
        return repairs.region(ctx.with_code(hollow.code), hollow.start, hollow.end, "file")
    found: list[Statement] = []
    for child in node.named_children:
        if not child.is_extra:
            found.extend(top_level(ctx, child))
    return found


def top_level(ctx: Context, node: Node) -> list[Statement]:
    """What stands at namespace scope: declarations; statements too, in fragments of programs."""
    if handles(node):
        return declare(ctx, node)
    if node.is_error:
        return statements.statement(ctx, node)
    return statements.statement(ctx.copy(local=True), node)


def _namespace(ctx: Context, node: Node) -> list[Statement]:
    body, named = node.child_by_field_name("body"), node.child_by_field_name("name")
    if body is None:
        return []
    scope = ctx.scope
    inline = any(c.type == "inline" for c in node.children)
    if named is not None and not inline:
        name = types._squeeze(ctx.text(named)).replace("inline", "")
        scope = f"{scope}::{name}" if scope else name
    inner = ctx.copy(scope=scope)
    return body_of(inner, body)


def _template(ctx: Context, node: Node, templates: list[Parameter]) -> list[Statement]:
    parameters = types.template_parameters(ctx, node.child_by_field_name("parameters"))
    found: list[Statement] = []
    for child in node.named_children:
        if child.type in ("template_parameter_list", "requires_clause") or child.is_extra:
            continue
        if handles(child):
            found.extend(declare(ctx, child, [*templates, *parameters]))
        elif child.is_error:
            found.extend(statements.statement(ctx, child))
    return found


def specifiers(ctx: Context, node: Node) -> Specifiers:
    """Reads the specifiers of a declaration, field or function definition."""
    type_node = node.child_by_field_name("type")
    found = Specifiers(types.copy_type(types.base_type(ctx, type_node)))
    for child in node.children:
        kind = child.type
        if kind == "type_qualifier":
            _qualifier(found, ctx.text(child))
        elif kind == "storage_class_specifier":
            word = ctx.text(child)
            found.static |= word == "static"
            found.extern |= word == "extern"
            found.thread_local |= word in ("thread_local", "__thread")
        elif kind in _SPACE_WORDS:
            _qualifier(found, kind)
        elif kind == "virtual" or kind == "virtual_specifier":
            found.virtual = True
        elif kind.endswith("_declarator") or kind == ";":
            break
    if type_node is not None:
        if type_node.type in CLASS_NODES and type_node.child_by_field_name("body") is not None:
            found.defined = classes.class_definition(ctx, type_node, [])
        elif type_node.type == "enum_specifier" and type_node.child_by_field_name("body") is not None:
            found.defined = classes.enum_definition(ctx, type_node)
    return found


_SPACE_WORDS: Final = frozenset(
    ("__global__", "__host__", "__device__", "__constant__", "__managed__", "__shared__", "__grid_constant__")
)
_MEMORY: Final[dict[str, Memory]] = {
    "__constant__": "constant",
    "__managed__": "managed",
    "__shared__": "shared",
    "__device__": "device",
}


def _qualifier(found: Specifiers, word: str) -> None:
    if word in ("const", "constexpr"):
        found.type.const = True
    elif word == "__global__":
        found.kernel = True
    elif word == "__host__":
        found.host = True
    if word == "__device__":
        found.device = True
    if word in _MEMORY and found.memory in ("", "device"):
        found.memory = _MEMORY[word]


def variables(ctx: Context, node: Node, templates: list[Parameter] | None = None) -> list[Statement]:
    """The variables, and functions without body, that a declaration declares."""
    said = specifiers(ctx, node)
    found: list[Statement] = list(said.defined)
    declared_any = False
    cursor_value: Variable | None = None
    children = node.children
    for index, child in enumerate(children):
        if node.field_name_for_child(index) == "declarator":
            declared_any = True
            made = _declared(ctx, node, child, said, templates or [])
            found.append(made)
            cursor_value = made if isinstance(made, Variable) else None
        elif node.field_name_for_child(index) in ("default_value", "value"):
            if cursor_value is not None:
                cursor_value.initializer = expressions.expression(ctx, child)
            elif found and isinstance(found[-1], Function):
                found[-1].virtual = True  # `= 0`
        elif child.type == "pure_virtual_clause" and found and isinstance(found[-1], Function):
            found[-1].virtual = True
    if not declared_any and said.typedef is False and not said.defined:
        type_node = node.child_by_field_name("type")
        if type_node is not None and type_node.type in (*CLASS_NODES, "enum_specifier"):
            named = type_node.child_by_field_name("name")
            if named is not None:
                ctx.types.add(types.name_of(ctx, named)[0])
    elif not declared_any and said.defined and ctx.scope and isinstance(said.defined[-1], Class):
        last = said.defined[-1]
        if last.name.rpartition("::")[2].startswith("<unnamed"):  # an anonymous union: its members are ours
            found.append(Variable(last.span, "", Type(last.name)))
    return found


def _declared(
    ctx: Context, node: Node, declarator: Node, said: Specifiers, templates: list[Parameter]
) -> Variable | Function:
    value: Node | None = None
    given: Node | None = None
    inner = declarator
    if declarator.type == "init_declarator":
        value = declarator.child_by_field_name("value")
        inner = declarator.child_by_field_name("declarator") or declarator
        if value is not None and value.type == "argument_list":
            given, value = value, None
    read = types.declare(ctx, inner, said.type)
    if read.parameters is not None and value is None and given is None:
        made = constructors.constructor_call(ctx, node, declarator, read, said)
        if made is not None:
            return made
        return _function(ctx, node, read, said, templates)
    name = read.name
    scoped = ctx.qualified(name) if not ctx.local and node.type != "field_declaration" else name
    span = ctx.span(declarator) if len(node.children_by_field_name("declarator")) > 1 else ctx.span(node)
    variable = Variable(
        span,
        scoped if not read.bindings else "",
        read.type,
        static=said.static,
        extern=said.extern,
        thread_local=said.thread_local,
        device=said.memory,
        bindings=read.bindings,
    )
    if value is not None:
        variable.initializer = expressions.expression(ctx, value)
    elif given is not None:
        variable.arguments = expressions.arguments_of(ctx, given)[0]
    return variable


def range_variable(ctx: Context, node: Node) -> Variable:
    """The variable of a range-based for."""
    said = specifiers(ctx, node)
    read = types.declare(ctx, node.child_by_field_name("declarator"), said.type)
    return Variable(
        ctx.span(node.child_by_field_name("declarator") or node), read.name, read.type, bindings=read.bindings
    )


def _typedef(ctx: Context, node: Node) -> list[Statement]:
    said = specifiers(ctx, node)
    found: list[Statement] = list(said.defined)
    for declarator in node.children_by_field_name("declarator"):
        read = types.declare(ctx, declarator, said.type)
        if read.parameters is not None:
            read.type.function = True
        if read.name:
            ctx.types.add(read.name)
            found.append(Alias(ctx.span(node), ctx.qualified(read.name), read.type))
    return found


# -- functions ---------------------------------------------------------------------------------------------------------


def _function(
    ctx: Context, node: Node, read: types.Declarator, said: Specifiers, templates: list[Parameter]
) -> Function:
    parameters, variadic = types.parameters(ctx, read.parameters)
    returns = read.type
    if read.trailing is not None:
        described = next((c for c in read.trailing.named_children if c.type == "type_descriptor"), None)
        returns = types.descriptor(ctx, described) if described is not None else returns
    name = ctx.qualified(read.name)
    last = read.name.rpartition("::")[2]
    owner = name[: -len(last)].removesuffix("::").rpartition("::")[2]
    no_type = node.child_by_field_name("type") is None
    constructor = no_type and bool(owner) and last == owner
    return Function(
        ctx.span(node),
        name,
        parameters,
        returns,
        None,
        templates=templates,
        specialization=read.template_arguments,
        kernel=said.kernel,
        device_only=said.device and not said.host,
        static=said.static,
        virtual=said.virtual,
        constructor=constructor,
        destructor=read.destructor,
        variadic=variadic,
    )


def function_definition(ctx: Context, node: Node, templates: list[Parameter]) -> list[Statement]:
    """A function with its body; bodies without errors are lowered when they are first read."""
    said = specifiers(ctx, node)
    declarator = node.child_by_field_name("declarator")
    read = types.declare(ctx, declarator, said.type)
    if read.parameters is None and read.function_node is None:
        return [*said.defined, statements.unparsed(ctx, node)]
    made = _function(ctx, node, read, said, templates)
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
            made.body = Block(ctx.span(child), statements.statement(ctx.copy(local=True), child))
    body = node.child_by_field_name("body")
    if body is not None:
        made.body = function_body(ctx, body)
        if made.kernel and not body.named_children and _commented(ctx, body):
            # `{ // kernel code }`: the body was left out, which is not the same as a kernel that does nothing
            made.body = Block(ctx.span(body), [UnparsedStatement(ctx.span(body), "...", [])])
    return [*said.defined, made]


def function_body(ctx: Context, body: Node) -> Block:
    """The body of a function."""
    inner = ctx.copy(local=True)
    inner.depth = 0
    if body.type == "try_statement":
        return Block(ctx.span(body), statements.statement(inner, body))
    if body.has_error or body.start_byte in inner.hollow:
        return statements.block(inner, body)
    return Block.lazy(ctx.span(body), lambda: statements.block_statements(inner, body))


def _commented(ctx: Context, body: Node) -> bool:
    first, last = ctx.code.origin(body.start_byte), ctx.code.origin(max(body.start_byte, body.end_byte - 1))
    inside = ctx.code.source.text[first + 1 : last]
    return "//" in inside or "/*" in inside


def _test_macro(ctx: Context, node: Node, read: types.Declarator) -> str:
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


def _initializers(ctx: Context, node: Node) -> list[tuple[str, list[Expression], bool]]:
    found: list[tuple[str, list[Expression], bool]] = []
    for child in node.named_children:
        if child.type != "field_initializer":
            continue
        named = [c for c in child.named_children if not c.is_extra]
        if not named:
            continue
        name = types.name_of(ctx, named[0])[0]
        arguments: list[Expression] = []
        braced = False
        for part in named[1:]:
            if part.type == "argument_list":
                arguments = expressions.arguments_of(ctx, part)[0]
            elif part.type == "initializer_list":
                braced = True
                listed = expressions.expression(ctx, part)
                arguments = listed.items if isinstance(listed, InitList) else [listed]
        found.append((name, arguments, braced))
    return found
