"""A wait for the kernel before, put at the start of a kernel's body."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.cuda_syntax.tree import Function
from streamsan.edits.cpp.calls import Chains
from streamsan.edits.cpp.insertion import Layout, NoPlaceError
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.change_steps import GRID_WAIT, KernelWaits
from streamsan.rules.case import Case, kernel_name


def waiting_kernel(step: KernelWaits, case: Case, chains: Chains, layout: Layout) -> Iterator[Variant]:
    """Yield the wait in the kernel that begins at once, where only one kernel has its name."""
    name = kernel_name(case.names.site(step.kernel.site).label)
    kernels = [
        each.body.span
        for each in chains.unit.declarations
        if isinstance(each, Function) and each.kernel and each.body is not None and each.name == name
    ]
    if len(kernels) == 1:
        try:
            yield Variant(step.words(case), (layout.first_in(kernels[0], f"{GRID_WAIT}();"),))
        except NoPlaceError:
            return
