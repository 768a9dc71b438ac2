"""Launches of kernels of OpenCL programs: their places are numbers of arguments, and indices may begin elsewhere."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from msgspec.structs import replace

from streamsan.kernels.uses import Use
from streamsan.launched_code.image_folder import is_module, is_text
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.model.opencl.work_items import WorkItems
from streamsan.trace.launch_shapes import LaunchShape
from streamsan.vocabulary import SlotFlag

NOT_IN_VIEW = {
    "binary": "their programs were made from binaries",
    "built-in": "they are built into the runtime",
}
"""What a recording says in the place of an image's name, and why such kernels are not read."""


_OFFSET = struct.Struct("<3Q")
_NUMBER = struct.Struct("<IIQ")
"""What an argument buffer has of an argument: which one it is, how many bytes it has (0: it is a part of a memory
object), and these as a number."""


def of_program(shape: LaunchShape) -> bool:
    """Tell whether a launch is of a kernel that is read from what its program was made from."""
    return bool(shape.code) and all(is_text(name) or is_module(name) for name in shape.code)


def sorts_of_code(shape: LaunchShape) -> set[str]:
    """Return the words for what a launch's kernel is read from."""
    sorts = set()
    for name in shape.code:
        if is_text(name):
            sorts.add("programs' text")
        elif is_module(name):
            sorts.add("programs' SPIR-V")
        elif name not in NOT_IN_VIEW:
            sorts.add("machine code")
    return sorts


def at_offset(accesses: KernelAccesses, shape: LaunchShape) -> KernelAccesses:
    """Return what one launch of such a kernel does: with a global offset the first work-item is not that of index 0."""
    if not any(shape.arguments[: _OFFSET.size]) and not shape.not_told:
        return accesses
    words = {at: Use(use.mode, use.flags & ~SlotFlag.TOUCHES) for at, use in accesses.words.items()}
    return replace(accesses, words=words)


def work_items_of(shape: LaunchShape) -> WorkItems | None:
    """Return the work-items of such a launch; None where they are not known."""
    if shape.not_told or 0 in shape.grid:
        return None
    first = _OFFSET.unpack_from(shape.arguments) if len(shape.arguments) >= _OFFSET.size else (0, 0, 0)
    return WorkItems(first, shape.grid, None if 0 in shape.block else shape.block)


def given_numbers(shape: LaunchShape) -> Mapping[int, tuple[int, int]]:
    """Return, by argument, the size and the bytes (as a number) of those that are kept.

    Of one that is a part of a memory object the size is 0.
    """
    records = shape.arguments[_OFFSET.size :]
    whole = len(records) - len(records) % _NUMBER.size
    return {index: (size, word) for index, size, word in _NUMBER.iter_unpack(records[:whole])}
