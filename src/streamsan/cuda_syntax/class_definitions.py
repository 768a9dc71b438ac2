"""Classes, structs, unions and enumerations."""

from __future__ import annotations

from msgspec.structs import replace
from tree_sitter import Node

from streamsan.cuda_syntax import declarators, tree
from streamsan.cuda_syntax.context import Context
from streamsan.cuda_syntax.lowering import optional
from streamsan.cuda_syntax.repairs import contents


def class_definition(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    """A class with its members; nothing for a mere declaration (its name is noted as a type)."""
    named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    arguments: list[tree.Type | tree.Expression] = []
    if named is None:
        name = declarators.anonymous_name(ctx, node)
    else:
        name, arguments = declarators.name_of(ctx, named)
    ctx.types.add(name.rpartition("::")[2])
    if body is None:
        return []
    made = tree.Class(
        ctx.span(node),
        ctx.qualified(name),
        _bases(ctx, node),
        [],
        [],
        [],
        templates=templates,
        union=node.type == "union_specifier",
        specialized=bool(arguments),
    )
    friends: list[tree.Function] = []
    inner = ctx.copy(scope=made.name, local=False)
    for found in contents(inner, body, "class"):
        if isinstance(found, tree.Variable):
            made.fields.append(found)
        elif isinstance(found, tree.Function) and not found.name.startswith(f"{made.name}::"):
            # A friend that the class defines is a free function: a template, where the class is one.
            friends.append(replace(found, templates=[*templates, *found.templates]))
        elif isinstance(found, tree.Function):
            made.methods.append(found)
        elif isinstance(found, tree.Class | tree.Enum | tree.Alias | tree.UsingNamespace):
            made.nested.append(found)
    return [made, *friends]


def _bases(ctx: Context, node: Node) -> list[tree.Type]:
    found: list[tree.Type] = []
    for child in node.children:
        if child.type == "base_class_clause":
            for base in child.named_children:
                if base.type in declarators.TYPE_NODES:
                    found.append(declarators.base_type(ctx, base))
    return found


def enum_definition(ctx: Context, node: Node, templates: list[tree.Parameter]) -> list[tree.Statement]:
    """An enumeration with its items."""
    named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    name = declarators.name_of(ctx, named)[0] if named is not None else declarators.anonymous_name(ctx, node)
    ctx.types.add(name.rpartition("::")[2])
    if body is None:
        return []
    items: list[tuple[str, tree.Expression | None]] = []
    for child in body.named_children:
        if child.type != "enumerator":
            continue
        item = child.child_by_field_name("name")
        value = optional(ctx, child.child_by_field_name("value"))
        items.append(("" if item is None else ctx.text(item), value))
    scoped = any(c.type in ("class", "struct") for c in node.children)
    return [tree.Enum(ctx.span(node), ctx.qualified(name), scoped, items)]
