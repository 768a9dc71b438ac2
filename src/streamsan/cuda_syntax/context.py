"""What lowering needs to know: the code at hand, the unit under construction, names that are types, how deep it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import tree_sitter_cuda
from msgspec import Struct, field
from tree_sitter import Language, Node, Parser

from streamsan.cuda_syntax.preprocess import MacroText
from streamsan.cuda_syntax.source_code import Code
from streamsan.cuda_syntax.tree import Problem, Span, Unit
from streamsan.patterns.late_pattern import late_pattern

MAX_DEPTH: Final = 150
"""levels of nested expressions, statements and types that are lowered; what is deeper becomes Unparsed.

Lowering takes about three Python frames a level and the walkers of the tree as many; Python stops at 1000."""

MAX_NESTING: Final = 120
"""brackets nested deeper than this are emptied before parsing"""

LANGUAGE: Final = Language(tree_sitter_cuda.language())
_PARSER: Final = Parser(LANGUAGE)
_SPACES = late_pattern(r"\s+")

BUILTIN_TYPES: Final = frozenset(
    "void bool char short int long float double signed unsigned auto size_t ssize_t ptrdiff_t wchar_t FILE dim3 half "  # noqa: SIM905
    "__half __nv_bfloat16 nv_bfloat16 char1 char2 char3 char4 uchar1 uchar2 uchar4 short2 short4 ushort2 ushort4 "
    "int1 int2 int3 int4 uint1 uint2 uint4 long2 longlong2 float1 float2 float3 float4 double1 double2 double3 "
    "double4 uint uchar ushort ulong CUdeviceptr CUstream CUevent CUcontext CUdevice CUmodule CUfunction CUresult "
    "string vector cublasHandle_t".split()
)
_OPENCL_TYPE = late_pattern(
    r"cl_(?:(?:u?(?:char|short|int|long)|half|float|double)(?:2|3|4|8|16)?|mem|context|command_queue|event|kernel|program"
    r"|sampler|platform_id|device_id|bool|bitfield|mem_flags|map_flags|svm_mem_flags|mem_migration_flags|device_type"
    r"|command_queue_properties|queue_properties|mem_properties|context_properties|command_buffer_khr|semaphore_khr"
    r"|buffer_region|image_format|image_desc)"
)
"""Types of OpenCL's headers."""


def parse(data: bytes) -> Node:
    """The grammar's tree of some code."""
    return _PARSER.parse(data).root_node


class Hollow(Struct, frozen=True):
    """A brace group that was emptied so that the text around it could be parsed: where its inside stands."""

    code: Code
    start: int
    end: int


class Shared(Struct):
    """What is one for the whole unit."""

    unit: Unit
    types: set[str]
    """names of classes, enums, aliases and type parameters seen anywhere in the unit"""
    macros: Mapping[str, MacroText]
    history: dict[str, list[tuple[int, MacroText | None]]]
    """what each `#define` and `#undef` made of a name, with its number among all of them"""
    budget: int
    """characters that repairs may still parse again; keeps hostile input from taking quadratic time"""


class Context(Struct):
    """Passed to every lowering function."""

    code: Code
    shared: Shared
    elisions: list[tuple[int, int]] = field(default_factory=list)
    """offsets in the file of comments that stand for code left out (`// ... kernel code ...`), in order"""
    scope: str = ""
    """qualified name of the namespace or class being lowered"""
    depth: int = 0
    local: bool = False
    """inside a function body"""
    hollow: dict[int, Hollow] = field(default_factory=dict)
    """by the offset of their `{` in the code"""
    c_linkage: bool = False
    """under `extern "C"`"""

    @property
    def types(self) -> set[str]:
        """Names known to be types."""
        return self.shared.types

    def with_code(self, code: Code, hollow: dict[int, Hollow] | None = None) -> Context:
        """The same, over other code of the same file."""
        linkage = self.c_linkage
        return Context(code, self.shared, self.elisions, self.scope, self.depth, self.local, hollow or {}, linkage)

    def copy(self, *, local: bool | None = None, scope: str | None = None, c_linkage: bool | None = None) -> Context:
        """The same, elsewhere in the nesting."""
        return Context(
            self.code,
            self.shared,
            self.elisions,
            self.scope if scope is None else scope,
            self.depth,
            self.local if local is None else local,
            self.hollow,
            self.c_linkage if c_linkage is None else c_linkage,
        )

    def span(self, node: Node) -> Span:
        """Where a node is in its file."""
        return self.code.span(node)

    def text(self, node: Node) -> str:
        """The text of a node."""
        return self.code.text(node)

    def brief(self, node: Node) -> str:
        """The text of a node on one line, at most 80 characters."""
        text = _SPACES.sub(" ", self.code.shown[node.start_byte : min(node.end_byte, node.start_byte + 400)]).strip()
        return text if len(text) <= 80 else text[:77] + "..."

    def problem(self, span: Span, text: str) -> None:
        """Adds a Problem to the unit."""
        self.shared.unit.problems.append(Problem(span, text))

    def qualified(self, name: str) -> str:
        """A declared name with the scope before it."""
        return f"{self.scope}::{name}" if self.scope and name else name or self.scope

    def is_type(self, name: str) -> bool:
        """Whether a name is known to be a type. False: it may still be one."""
        if name in self.types or name in BUILTIN_TYPES or _OPENCL_TYPE.fullmatch(name):
            return True
        last = name.rpartition("::")[2]
        return last in self.types or last in BUILTIN_TYPES or (last.endswith("_t") and len(last) > 2)
