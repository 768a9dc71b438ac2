"""The instructions of SPIR-V that say something of memory, by their numbers (SPIR-V 1.6, OpenCL.std).

Positions count the operands after the result: operand 0 of `OpLoad` is its pointer.
"""

from __future__ import annotations

from typing import Final, NamedTuple

UNDEF: Final = 1
EXT_INST_IMPORT: Final = 11
EXT_INST: Final = 12
ENTRY_POINT: Final = 15
TYPE_INT: Final = 21
TYPE_IMAGE: Final = 25
TYPE_STRUCT: Final = 30
TYPE_POINTER: Final = 32
TYPE_PIPE: Final = 38
TYPES: Final = frozenset((*range(19, 40), 322, 327))
CONSTANT_TRUE: Final = 41
CONSTANT_FALSE: Final = 42
CONSTANT: Final = 43
CONSTANT_COMPOSITE: Final = 44
CONSTANT_NULL: Final = 46
FUNCTION: Final = 54
FUNCTION_PARAMETER: Final = 55
FUNCTION_END: Final = 56
FUNCTION_CALL: Final = 57
VARIABLE: Final = 59
LOAD: Final = 61
STORE: Final = 62
COPY_MEMORY: Final = 63
COPY_MEMORY_SIZED: Final = 64
DECORATE: Final = 71
COMPOSITE_CONSTRUCT: Final = 80
COMPOSITE_EXTRACT: Final = 81
COMPOSITE_INSERT: Final = 82
SAMPLED_IMAGE: Final = 86
SELECT: Final = 169
PHI: Final = 245
LABEL: Final = 248
BRANCH: Final = 249
BRANCH_CONDITIONAL: Final = 250
SWITCH: Final = 251
RETURN: Final = 253
RETURN_VALUE: Final = 254
CONTROL_BARRIER: Final = 224
MEMORY_BARRIER: Final = 225
ATOMIC_LOAD: Final = 227
ATOMIC_STORE: Final = 228
ATOMIC_FLAG_CLEAR: Final = 319
GROUP_ASYNC_COPY: Final = 259

WITHOUT_RESULT: Final = frozenset(
    (STORE, COPY_MEMORY, COPY_MEMORY_SIZED, 99, CONTROL_BARRIER, MEMORY_BARRIER, ATOMIC_STORE, 246, 247, BRANCH,
     BRANCH_CONDITIONAL, SWITCH, 252, RETURN, RETURN_VALUE, 255, 256, 257, 260, ATOMIC_FLAG_CLEAR, 5576, 5578)
)  # fmt: skip
"""Among the known ones: those that make no value."""

HARMLESS: Final = frozenset(
    (0, 8, LABEL, BRANCH, BRANCH_CONDITIONAL, SWITCH, 246, 247, 252, RETURN, 255, 256, 257, 317)
)
"""Lines, labels, branches, lifetimes: nothing of memory."""
LOGICAL_OR: Final = 166
LOGICAL_AND: Final = 167
LOGICAL_NOT: Final = 168
COMPARISONS: Final = {
    **{170: "==", 171: "!=", 172: ">", 173: ">", 174: ">=", 175: ">="},
    **{176: "<", 177: "<", 178: "<=", 179: "<="},
}
NUMBERS_ONLY: Final = frozenset(
    (UNDEF, 69, *range(101, 108), 164, 165, 166, 167, 168, 260, 401, 402, 403, *COMPARISONS, *range(180, 192))
)
"""Their result is no address, whatever they are given: comparisons, sizes of images, differences of pointers."""
ARITHMETIC: Final = {
    **{128: "+", 130: "-", 132: "*", 134: "/", 135: "/", 137: "%", 138: "%", 139: "%"},
    **{194: ">>", 195: ">>", 196: "<<", 197: "|", 198: "^", 199: "&"},
}
CONVERSIONS: Final = frozenset((113, 114, 117, 118, 119, 120, 124, 83, 400))
"""Their result is what they are given: of other widths or types, numbers as pointers, and back."""
_FROM_FIRST: Final = (60, 65, 66, 67, 70, 77, COMPOSITE_EXTRACT, 100, 121, 122, 123, 5934, 5938, *CONVERSIONS)
_FROM_TWO: Final = (78, 79, COMPOSITE_INSERT, 86, 5631, *ARITHMETIC)
PASSES_ON: Final = {
    **dict.fromkeys(_FROM_FIRST, slice(0, 1)),
    **dict.fromkeys(_FROM_TWO, slice(0, 2)),
    COMPOSITE_CONSTRUCT: slice(0, None),
    SELECT: slice(1, 3),
    PHI: slice(0, None, 2),
}
"""Which operands the result may be, or be a part of."""
ELEMENTS: Final = frozenset((65, 66, 67, 70))
"""Addresses of elements: of a pointer, by indices."""
POINTERS_AS_THEY_ARE: Final = frozenset((121, 122, 123, 5934, 5938))

READS: Final = {**dict.fromkeys(range(87, 99), 0), 5575: 0, 5577: 0}
"""Which operand is what is read: images, and blocks of a subgroup."""
WRITES: Final = {99: 0, 5576: 0, 5578: 0}
OF_PIXELS: Final = frozenset((*range(87, 96), 98, 99))
"""Accesses of one pixel, whose coordinates are operand 1."""
ATOMICS: Final = frozenset((*range(227, 243), 318, ATOMIC_FLAG_CLEAR, 5614, 5615, 6035))
"""Operand 0 is a pointer, 1 a scope."""

STANDARD_SET: Final = "OpenCL.std"
DEBUG_SETS: Final = ("OpenCL.DebugInfo", "NonSemantic.", "DebugInfo", "SPIRV.debug")


class StandardCall(NamedTuple):
    """A function of the standard set that follows a pointer."""

    pointer: int
    """which operand it is"""
    writes: bool
    offset: int | None = None
    """the operand that counts its vectors from there; None: it is at the pointer"""


_LOADS: Final = dict.fromkeys((171, 173, 174, 179), StandardCall(1, False, 0))
_STORES: Final = dict.fromkeys((172, 175, 176, 177, 178, 180, 181), StandardCall(2, True, 1))
_RESULTS: Final = dict.fromkeys((30, 31, 36, 45, 58), StandardCall(1, True)) | {52: StandardCall(2, True)}
STANDARD_CALLS: Final = _LOADS | _STORES | _RESULTS
STANDARD_WITHOUT_MEMORY: Final = frozenset((184, 185))
"""printf, prefetch"""

WIDEST: Final = 16
"""elements of a vector"""

# Storage classes, built-in variables, decorations and bits of memory operands.
UNIFORM_CONSTANT: Final = 0
INPUT: Final = 1
WORKGROUP: Final = 4
PRIVATE: Final = 6
FUNCTION_MEMORY: Final = 7
BUILT_IN: Final = 11
KERNEL_MODEL: Final = 6
CROSS_DEVICE: Final = 0
VOLATILE: Final = 1
FIRST_ITEMS_INDICES: Final = frozenset((26, 27, 28, 29, 33, 34, 40, 41))
"""Built-in variables that are 0 in the first work-item, where there is no global offset."""
SIZES: Final = frozenset((24, 25, 30, 31, 32, 36, 37, 38, 39))
