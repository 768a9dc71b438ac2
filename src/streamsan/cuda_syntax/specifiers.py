"""What stands before a declarator: the type, and words such as `static` and `__global__`."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct, field
from tree_sitter import Node

from streamsan.cuda_syntax import declarators, lowering
from streamsan.cuda_syntax.context import Context
from streamsan.cuda_syntax.tree import Statement, Type

CLASS_NODES: Final = frozenset(("struct_specifier", "class_specifier", "union_specifier"))
Memory = Literal["", "device", "constant", "managed", "shared"]
_SPACE_WORDS: Final = frozenset(
    ("__global__", "__host__", "__device__", "__constant__", "__managed__", "__shared__", "__grid_constant__")
)
_MEMORY: Final[dict[str, Memory]] = {
    "__constant__": "constant",
    "__managed__": "managed",
    "__shared__": "shared",
    "__device__": "device",
}


class Specifiers(Struct):
    """What stands before a declarator, apart from the type."""

    type: Type
    static: bool = False
    extern: bool = False
    thread_local: bool = False
    virtual: bool = False
    kernel: bool = False
    host: bool = False
    device: bool = False
    memory: Memory = ""
    defined: list[Statement] = field(default_factory=list)
    """the class or enum whose body stands in the specifiers"""


def read_specifiers(ctx: Context, node: Node) -> Specifiers:
    """Reads the specifiers of a declaration, field or function definition."""
    type_node = node.child_by_field_name("type")
    found = Specifiers(declarators.copy_type(declarators.base_type(ctx, type_node)))
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
    defines = type_node is not None and type_node.type in (*CLASS_NODES, "enum_specifier")
    if type_node is not None and defines and type_node.child_by_field_name("body") is not None:
        found.defined = lowering.declare(ctx, type_node)
    return found


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
