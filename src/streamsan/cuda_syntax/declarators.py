"""Types, declarators and qualified names."""

from __future__ import annotations

from msgspec import Struct, field
from tree_sitter import Node

from streamsan.cuda_syntax.context import MAX_DEPTH, Context
from streamsan.cuda_syntax.lowering import expression
from streamsan.cuda_syntax.text_repairs import EMPTY_BRACES
from streamsan.cuda_syntax.tree import Expression, InitList, Name, Parameter, Type
from streamsan.patterns.late_pattern import late_pattern

_SPACES = late_pattern(r"\s+")
_WORDS = late_pattern(r"\w[\w\s]*\w|\w")

NAME_NODES = frozenset(
    "identifier field_identifier type_identifier namespace_identifier statement_identifier primitive_type "  # noqa: SIM905
    "destructor_name operator_name qualified_identifier template_function template_type template_method "
    "dependent_name dependent_type this auto".split()
)
TYPE_NODES = frozenset(
    "type_identifier primitive_type sized_type_specifier template_type qualified_identifier struct_specifier "  # noqa: SIM905
    "class_specifier union_specifier enum_specifier placeholder_type_specifier decltype dependent_type "
    "splice_type_specifier type_descriptor".split()
)
_INDIRECTIONS = ("pointer_declarator", "pointer_type_declarator", "reference_declarator")


class Declarator(Struct):
    """What a declarator says beside the base type."""

    name: str = ""
    name_node: Node | None = None
    template_arguments: list[Type | Expression] = field(default_factory=list)
    type: Type = field(default_factory=lambda: Type(""))
    parameters: Node | None = None
    """the parameter list, if this declares a function"""
    function_node: Node | None = None
    bindings: list[str] = field(default_factory=list)
    pack: bool = False
    destructor: bool = False
    trailing: Node | None = None


def copy_type(of: Type) -> Type:
    """A copy that can be given its own pointers and dimensions."""
    return Type(of.name, of.arguments, of.pointers, of.reference, of.const, list(of.array), of.function)


def name_of(ctx: Context, node: Node) -> tuple[str, list[Type | Expression]]:
    """The qualified name in a name node, without template arguments, and the last component's arguments."""
    parts: list[str] = []
    arguments: list[Type | Expression] = []
    current: Node | None = node
    while current is not None:
        kind = current.type
        if kind == "qualified_identifier":
            scope = current.child_by_field_name("scope")
            if scope is not None:
                parts.append(_plain_name(ctx, scope))
            elif not parts:
                parts.append("")
            following = current.child_by_field_name("name")
            if following is None:
                break
            current = following
            continue
        if kind in ("template_function", "template_type", "template_method"):
            listed = current.child_by_field_name("arguments")
            if listed is not None:
                arguments = template_arguments(ctx, listed)
            current = current.child_by_field_name("name")
            continue
        if kind in ("dependent_name", "dependent_type"):
            named = current.named_children
            current = named[-1] if named else None
            continue
        if kind == "operator_cast":
            target = current.child_by_field_name("type")
            parts.append("operator " + ("" if target is None else _operator_type(ctx, current, target)))
            break
        parts.append(squeeze(ctx.text(current)))
        break
    return "::".join(parts).removeprefix("::"), arguments


def scope_arguments(ctx: Context, node: Node) -> list[Type | Expression]:
    """The template arguments of the innermost scope of a qualified name."""
    scope: Node | None = None
    current: Node | None = node
    while current is not None and current.type == "qualified_identifier":
        scope = current.child_by_field_name("scope")
        current = current.child_by_field_name("name")
    listed = scope.child_by_field_name("arguments") if scope is not None else None
    return [] if listed is None else template_arguments(ctx, listed)


def _operator_type(ctx: Context, node: Node, target: Node) -> str:
    name = name_of(ctx, target)[0] if target.type in NAME_NODES else squeeze(ctx.text(target))
    declarator = node.child_by_field_name("declarator")
    depth = 0
    while declarator is not None and depth < MAX_DEPTH:
        if declarator.type == "abstract_pointer_declarator":
            name += "*"
        elif declarator.type == "abstract_reference_declarator":
            name += "&"
        declarator = declarator.child_by_field_name("declarator")
        depth += 1
    return name


def _plain_name(ctx: Context, node: Node) -> str:
    if node.type in ("template_type", "template_function", "dependent_name"):
        named = node.child_by_field_name("name")
        return ctx.text(named) if named is not None else ctx.text(node)
    return squeeze(ctx.text(node))


def squeeze(text: str) -> str:
    """A name without the spaces in it; an operator's keeps those between words."""
    if "operator" in text:
        symbol = _SPACES.sub(" ", text.strip())
        return symbol if symbol[-1:].isalnum() else symbol.replace(" ", "")
    return "".join(text.split())


def anonymous_name(ctx: Context, node: Node) -> str:
    """A name for a class or enum that has none: by its place, so that it is the same wherever it is asked for."""
    span = ctx.span(node)
    return f"<unnamed {span.line}:{span.column}>"


def template_arguments(ctx: Context, node: Node) -> list[Type | Expression]:
    """The arguments in `<...>`."""
    found: list[Type | Expression] = []
    if ctx.depth > MAX_DEPTH:
        return found
    for child in node.named_children:
        if child.type == "type_descriptor":
            found.append(descriptor(ctx, child))
        elif not child.is_extra:
            found.append(expression(ctx, child))
    return found


def base_type(ctx: Context, node: Node | None) -> Type:
    """The type a specifier names (without declarator)."""
    if node is None:
        return Type("")
    if ctx.depth > MAX_DEPTH:
        return Type("")
    kind = node.type
    if kind == "type_descriptor":
        return descriptor(ctx, node)
    if kind in ("primitive_type", "type_identifier", "identifier"):
        name = ctx.code.shown[node.start_byte : node.end_byte]
        if name[-1:] == "*":  # a stand-in for `T*` (see fixes.type_arguments)
            return Type(name.rstrip("* "), pointers=name.count("*"))
        return Type(name)
    if kind == "sized_type_specifier":
        return Type(_SPACES.sub(" ", ctx.text(node)))
    if kind in ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier"):
        named = node.child_by_field_name("name")
        if named is None:
            return Type(anonymous_name(ctx, node))
        name, arguments = name_of(ctx, named)
        return Type(name, arguments)
    if kind == "placeholder_type_specifier":
        return Type("auto" if "decltype" not in ctx.text(node) else "decltype(auto)")
    if kind == "decltype":
        return Type(_SPACES.sub(" ", ctx.text(node)))
    if kind in NAME_NODES:
        ctx.depth += 1
        try:
            name, arguments = name_of(ctx, node)
        finally:
            ctx.depth -= 1
        return Type(name, arguments)
    return Type(_SPACES.sub(" ", ctx.brief(node)))


def descriptor(ctx: Context, node: Node) -> Type:
    """A type without a name: `const float*`."""
    read = base_type(ctx, node.child_by_field_name("type"))
    read = copy_type(read)
    read.const = read.const or has_const(ctx, node)
    declarator = node.child_by_field_name("declarator")
    return declare(ctx, declarator, read).type if declarator is not None else read


def has_const(ctx: Context, node: Node) -> bool:
    """Whether `const` or `constexpr` stands among a declaration's specifiers."""
    return any(c.type == "type_qualifier" and ctx.text(c) in ("const", "constexpr") for c in node.children)


def declare(ctx: Context, node: Node | None, base: Type) -> Declarator:
    """Reads a declarator from outside in."""
    found = Declarator(type=copy_type(base))
    while node is not None and found.name_node is None:
        if node.type == "structured_binding_declarator":
            found.bindings = [ctx.text(c) for c in node.named_children if c.type == "identifier"]
            found.name_node = node
        elif node.type in NAME_NODES or node.type == "operator_cast":
            _declare_name(ctx, node, found)
        else:
            node = _declare_level(ctx, node, found)
    return found


def _declare_level(ctx: Context, node: Node, found: Declarator) -> Node | None:
    """Reads what stands around the name at one level; returns the level inside."""
    read = found.type
    following = node.child_by_field_name("declarator")
    match node.type.removeprefix("abstract_"):
        case "pointer_declarator" | "pointer_type_declarator":
            read.pointers += 1
            read.array = []  # a pointer to an array: the dimensions say nothing about the pointer itself
            return following
        case "reference_declarator":
            read.reference = "&&" if node.children[0].type == "&&" else "&"
            return following or last_named(node)
        case "array_declarator":
            size = node.child_by_field_name("size")
            read.array.insert(0, None if size is None else expression(ctx, size))
            return following
        case "function_declarator" if following is not None and _is_function_pointer(following):
            read.function, read.pointers, read.reference, read.array = True, 0, "", []
            inside = _inside_parentheses(following)
            while inside is not None and inside.type.endswith(_INDIRECTIONS):
                inside = inside.child_by_field_name("declarator") or last_named(inside)
            return inside
        case "function_declarator":
            found.parameters = node.child_by_field_name("parameters")
            found.function_node = node
            read.function = read.function or node.type.startswith("abstract_")
            trailing = (c for c in node.children if c.type == "trailing_return_type")
            found.trailing = next(trailing, found.trailing)
            return following
        case "variadic_declarator":
            found.pack = True
            return following or last_named(node)
        case "init_declarator":
            return following
    return following or first_declarator(node)


def _declare_name(ctx: Context, node: Node, found: Declarator) -> None:
    found.name_node = node
    found.name, found.template_arguments = name_of(ctx, node)
    found.destructor = "~" in found.name
    cast = _nested_cast(node)
    if cast is not None:
        found.parameters = _cast_parameters(cast)
        found.function_node = cast
        found.type.name = squeeze(ctx.text(cast.child_by_field_name("type") or cast))


def _nested_cast(node: Node) -> Node | None:
    current: Node | None = node
    while current is not None and current.type == "qualified_identifier":
        current = current.child_by_field_name("name")
    return current if current is not None and current.type == "operator_cast" else None


def _cast_parameters(node: Node) -> Node | None:
    current = node.child_by_field_name("declarator")
    while current is not None and current.type != "abstract_function_declarator":
        current = current.child_by_field_name("declarator") or last_named(current)
    return None if current is None else current.child_by_field_name("parameters")


def _is_function_pointer(node: Node) -> bool:
    inner = _inside_parentheses(node)
    return inner is not None and inner.type.endswith(_INDIRECTIONS)


def _inside_parentheses(node: Node) -> Node | None:
    if node.type not in ("parenthesized_declarator", "abstract_parenthesized_declarator"):
        return None
    return first_declarator(node)


def first_declarator(node: Node) -> Node | None:
    """The first declarator or name directly inside a node."""
    for child in node.named_children:
        if child.type.endswith("_declarator") or child.type in NAME_NODES:
            return child
    return None


def last_named(node: Node) -> Node | None:
    """The last declarator or name directly inside a node."""
    named = [c for c in node.named_children if c.type.endswith("_declarator") or c.type in NAME_NODES]
    return named[-1] if named else None


def parameters(ctx: Context, node: Node | None) -> tuple[list[Parameter], bool]:
    """The parameters in a parameter list, and whether it ends in `...`."""
    found: list[Parameter] = []
    variadic = False
    if node is None:
        return found, variadic
    for child in node.children:
        kind = child.type
        if kind in (
            "parameter_declaration",
            "optional_parameter_declaration",
            "variadic_parameter_declaration",
            "explicit_object_parameter_declaration",
        ):
            found.append(_parameter(ctx, child))
        elif kind == "...":
            variadic = True
        elif kind == "identifier":
            found.append(Parameter("", Type(ctx.text(child))))
    if len(found) == 1 and found[0].type.name == "void" and not found[0].type.pointers and not found[0].name:
        return [], variadic
    return found, variadic


def _parameter(ctx: Context, node: Node) -> Parameter:
    base = base_type(ctx, node.child_by_field_name("type"))
    base = copy_type(base)
    base.const = base.const or has_const(ctx, node)
    declared = declare(ctx, node.child_by_field_name("declarator"), base)
    default = node.child_by_field_name("default_value")
    if declared.parameters is not None:
        declared.type.function = True  # a parameter of function type is a pointer to it
    pack = declared.pack or node.type == "variadic_parameter_declaration"
    value = None if default is None else expression(ctx, default)
    if isinstance(value, Name) and value.name == EMPTY_BRACES:
        value = InitList(value.span, None, [], [])
    return Parameter(declared.name, declared.type, value, pack)


def template_parameters(ctx: Context, node: Node | None) -> list[Parameter]:
    """The parameters in `template <...>`; type parameters get the type `typename`."""
    found: list[Parameter] = []
    if node is None:
        return found
    for child in node.named_children:
        kind = child.type
        if kind in (
            "type_parameter_declaration",
            "variadic_type_parameter_declaration",
            "optional_type_parameter_declaration",
            "template_template_parameter_declaration",
        ):
            named = child.child_by_field_name("name")
            if named is None:
                named = next((c for c in reversed(child.named_children) if c.type == "type_identifier"), None)
            name = "" if named is None else ctx.text(named)
            if kind == "template_template_parameter_declaration" and named is None:
                name = _WORDS.findall(ctx.text(child))[-1]
            if name:
                ctx.types.add(name)
            pack = kind == "variadic_type_parameter_declaration" or "..." in ctx.text(child)
            found.append(Parameter(name, Type("typename"), None, pack))
        elif kind in ("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"):
            found.append(_parameter(ctx, child))
    return found


def _as_expression(ctx: Context, node: Node) -> Expression:
    read = base_type(ctx, node)
    return Name(ctx.span(node), read.name, read.arguments)


TYPE_NAMES = dict.fromkeys(TYPE_NODES, _as_expression)
"""for `lowering.TYPE_NAMES`"""
