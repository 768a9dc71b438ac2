"""Which bytes one launch of a kernel in SPIR-V reads and writes through its arguments."""

from __future__ import annotations

from collections.abc import Mapping

from streamsan.kernels.axis_sums import NotFollowedError, Sum
from streamsan.kernels.opencl_ranges import agrees, geometry, pieces_of
from streamsan.kernels.spirv import spirv_instructions as op
from streamsan.kernels.spirv.spirv_items import OF_GROUPS
from streamsan.kernels.spirv.spirv_kernels import spirv_kernel
from streamsan.kernels.spirv.spirv_module import SpirvError, SpirvModule
from streamsan.kernels.spirv.spirv_numbers import Value
from streamsan.kernels.spirv.spirv_pointers import reached_functions
from streamsan.kernels.spirv.spirv_walk import Walk
from streamsan.kernels.work_item_expressions import Place
from streamsan.model.opencl.work_items import ByteRange, WorkItems

_OF_BUFFERS = frozenset((5, op.UNIFORM_CONSTANT))
"""storage classes: of global and of constant memory"""


class SpirvRanges:
    """The ranges of launches of one module's kernels."""

    def __init__(self, module: SpirvModule) -> None:
        self._module = module
        self._reached: dict[object, dict[int, tuple[ByteRange, ...]]] = {}

    def numbers(self, name: str, given: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """Return the values of a kernel's parameters that are whole numbers, by their sizes and their bytes."""
        function = self._module.functions.get(self._module.kernels.get(name, 0))
        found: dict[int, int] = {}
        for at, (size, word) in given.items():
            kind = None
            if function is not None and at < len(function.parameters):
                kind = self._module.types.get(function.parameters[at][1])
            if kind is not None and kind.opcode == op.TYPE_INT and kind.words[1:2] == (8 * size,) and size > 0:
                sign = 1 << (8 * size - 1)
                found[at] = word - 2 * sign if word & sign else word
        return found

    def reach(self, name: str, items: WorkItems, numbers: Mapping[int, int]) -> dict[int, tuple[ByteRange, ...]]:
        """Return which bytes a launch touches, by argument, where that is known; `numbers` are arguments that are."""
        key = (name, items, tuple(sorted(numbers.items())))
        if key not in self._reached:
            try:
                self._reached[key] = self._reach(name, items, numbers)
            except (NotFollowedError, SpirvError, RecursionError, LookupError):
                self._reached[key] = {}
        return self._reached[key]

    def _reach(self, name: str, items: WorkItems, numbers: Mapping[int, int]) -> dict[int, tuple[ByteRange, ...]]:
        kernel = spirv_kernel(self._module, name)
        function = self._module.functions[self._module.kernels[name]] if kernel is not None else None
        launch = geometry(items, in_groups=self._asks_for_groups(name)) if function is not None else None
        if kernel is None or function is None or launch is None or 0 in launch.blocks or 0 in launch.threads:
            return {}
        given: dict[int, Value] = {}
        for at, (parameter, kind) in enumerate(function.parameters):
            number = numbers.get(at)
            of_buffer = self._module.storage(kind) in _OF_BUFFERS
            given[parameter] = Place(str(at), Sum(0)) if of_buffer else None if number is None else Sum(number)
        walk = Walk(self._module, launch)
        walk.run(function, given)
        found = {int(at): tuple(pieces_of(ways, 1)) for at, ways in walk.found.items() if at not in walk.escaped}
        return {
            at: pieces
            for at, pieces in found.items()
            if (use := kernel.uses.get(at)) is not None and agrees(use.mode, use.flags, pieces)
        }

    def _asks_for_groups(self, name: str) -> bool:
        says = self._module.built_in
        return any(
            each.opcode == op.LOAD and each.operands and says.get(each.operands[0]) in OF_GROUPS
            for function in reached_functions(self._module, self._module.kernels[name])
            for each in self._module.functions[function].body
        )
