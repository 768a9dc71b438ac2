"""Which variables of the device kernels name, and where they lie: nothing among a launch's arguments leads to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamsan.launched_code.launch_ranges import POLLED, Extents, UsedRange, surely_touched, used_ranges
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.trace import Trace
from streamsan.trace.store import Slots
from streamsan.vocabulary import MemoryKind, OperationKind

_KINDS = (MemoryKind.DEVICE_SYMBOL, MemoryKind.MANAGED)
_ENDS = (OperationKind.CONTEXT_DESTROY, OperationKind.DEVICE_RESET)
"""what ends variables that no FREE names"""


class VariableRange(NamedTuple):
    """Bytes of a variable that a launch uses, counted from where the variable begins."""

    symbol: str
    used: UsedRange
    constant: bool
    """it lies in constant memory"""


def ranges_of_variables(accesses: KernelAccesses, extents: Extents) -> tuple[VariableRange, ...]:
    """Return what a launch uses of variables, as far as that is known."""
    found: list[VariableRange] = []
    for symbol, use in accesses.variables.items():
        constant = symbol in accesses.constants
        known = extents.get(symbol)
        ranges = used_ranges([(use, known)])
        if ranges is None:
            ranges = [] if known is None else surely_touched(known)
        found += [VariableRange(symbol, each, constant) for each in ranges]
        if symbol in accesses.polls:
            found.append(VariableRange(symbol, POLLED, constant))
    return tuple(found)


class KnownVariables:
    """Which variables are alive, and where, as far as the slots were read.

    A variable is an allocation whose site has its symbol as label. Of one that several modules or devices of a process
    have, it is not known which a kernel means.
    """

    def __init__(self, trace: Trace, symbols: dict[str, int]) -> None:
        self._trace = trace
        self._symbols = symbols
        self._sites: dict[int, int] = {}
        self._alive: dict[tuple[int, int], set[int]] = {}
        """process and variable -> addresses"""

    def addresses(self, processes: NDArray[np.intp], variables: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return where variables of processes lie, 0 where it is not known."""
        # Pairs, no table of all: the numbers of processes (32 bits) are the file's.
        keys, which = np.unique(processes * len(self._symbols) + variables, return_inverse=True)
        found = [self._address(*divmod(key, len(self._symbols))) for key in keys.tolist()]
        return np.array(found, np.uint64)[which]

    def _address(self, process: int, variable: int) -> int:
        places = self._alive.get((process, variable), set())
        return next(iter(places)) if len(places) == 1 else 0

    def events(self, slots: Slots) -> list[int]:
        """Return where in these slots variables begin or end."""
        kinds = np.ascontiguousarray(slots["kind"])
        made = np.flatnonzero(kinds == OperationKind.ALLOC)
        made = made[np.isin(slots["detail"][made], _KINDS)]
        named = [row for row in made.tolist() if self._variable(slots[row]) >= 0]
        known = {address for places in self._alive.values() for address in places}
        known.update(int(slots["address"][row]) for row in named)
        ends = np.flatnonzero(np.isin(kinds, _ENDS)).tolist()
        if known:
            # An unloaded module's variables are not freed: the memory is given to others.
            taken = np.flatnonzero((kinds == OperationKind.FREE) | (kinds == OperationKind.ALLOC))
            ends += taken[np.isin(slots["address"][taken], np.array(sorted(known), np.uint64))].tolist()
        return sorted({*named, *ends})

    def tell(self, slot: np.void) -> None:
        """Note that a variable begins or ends."""
        process, address = self._trace.threads[int(slot["thread"])].process, int(slot["address"])
        for (owner, _), places in self._alive.items():
            if owner != process:
                continue
            if slot["kind"] in _ENDS:
                places.clear()
            else:
                places.discard(address)
        variable = self._variable(slot) if slot["kind"] == OperationKind.ALLOC and slot["detail"] in _KINDS else -1
        if variable >= 0:
            self._alive.setdefault((process, variable), set()).add(address)

    def _variable(self, slot: np.void) -> int:
        """Return the number of the variable that an allocation is, -1 where it is none."""
        site = int(slot["site"])
        if site not in self._sites:
            label = self._trace.sites[site].label if 0 < site < len(self._trace.sites) else ""
            self._sites[site] = self._symbols.get(label, -1)
        return self._sites[site]
