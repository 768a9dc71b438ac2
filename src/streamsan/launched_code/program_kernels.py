"""Launches of kernels of OpenCL programs: their places are numbers of arguments, and indices may begin elsewhere."""

from __future__ import annotations

from dataclasses import replace

from streamsan.kernels.uses import Use
from streamsan.launched_code.image_folder import is_module, is_text
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.trace.launch_shapes import LaunchShape
from streamsan.vocabulary import SlotFlag

NOT_IN_VIEW = {
    "binary": "their programs were made from binaries",
    "built-in": "they are built into the runtime",
}
"""What a recording says in the place of an image's name, and why such kernels are not read."""


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
    if not any(shape.arguments) and not shape.not_told:
        return accesses
    words = {at: Use(use.mode, use.flags & ~SlotFlag.TOUCHES) for at, use in accesses.words.items()}
    return replace(accesses, words=words)
