"""What the kernels of a module of SPIR-V do with the memory that they are given."""

from __future__ import annotations

from typing import NamedTuple

from streamsan.kernels.spirv.spirv_first_item import TouchedFirst
from streamsan.kernels.spirv.spirv_module import SpirvError, SpirvModule
from streamsan.kernels.spirv.spirv_pointers import PointerUses
from streamsan.kernels.uses import Use
from streamsan.vocabulary import AccessMode, SlotFlag


class SpirvKernel(NamedTuple):
    """What one kernel does."""

    uses: dict[int, Use]
    """of the memory behind its parameters, by their positions; of the others it uses none"""
    follows_found: bool
    """it also follows addresses that it finds in memory"""
    talks: bool
    """it may tell other threads something while it runs, or ask"""


def spirv_kernel(module: SpirvModule, name: str) -> SpirvKernel | None:
    """Return what a kernel does; None where the module has no such kernel. Raises `SpirvError`."""
    function = module.kernels.get(name)
    if function is None:
        return None
    pointers = PointerUses(module, function)
    try:
        touched = TouchedFirst(module, function)
    except RecursionError:
        raise SpirvError("its values are nested too deeply") from None
    uses = {}
    for position in range(len(module.functions[function].parameters)):
        use = pointers.use(position)
        if use is None:
            continue
        surely = touched.reads if use.mode is AccessMode.READ else touched.writes
        sure = position in surely and use.mode is not AccessMode.OPAQUE
        uses[position] = Use(use.mode, use.flags | (int(SlotFlag.TOUCHES) if sure else 0))
    return SpirvKernel(uses, pointers.follows_found, pointers.talks)
