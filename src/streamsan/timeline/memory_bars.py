"""Memory as bars: each allocation from the operation that made it to the one that gave it back."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.timeline.calls_drawn import Call
from streamsan.trace.slot_fields import STATUS_UNKNOWN
from streamsan.trace.store import Slots
from streamsan.vocabulary import FreeClass, MemoryKind, OperationKind

UNDATED = (
    MemoryKind.GRAPH,  # alive from a launch to its free, which the trace does not repeat for each launch
    MemoryKind.DEVICE_SYMBOL,  # as old as its context
    MemoryKind.UNKNOWN,
)
"""kinds whose life the trace does not date: they have no bars"""
ENDS_ALL = (OperationKind.DEVICE_RESET, OperationKind.PROCESS_EXIT)
OVERLAYS = (MemoryKind.POOL_BLOCK, MemoryKind.CL_MAPPED, MemoryKind.REGISTERED)
"""kinds that lie over other memory, and so would count twice"""
_FREES_OVER = {
    FreeClass.POOL_BLOCK: MemoryKind.POOL_BLOCK,
    FreeClass.CL_UNMAP: MemoryKind.CL_MAPPED,
    FreeClass.UNREGISTER: MemoryKind.REGISTERED,
}
NOT_FREED = -1


class MemoryBars(Struct, frozen=True):
    """All allocations, a row each, in the order in which they were made."""

    begin: NDArray[np.uint32]
    """the operation that made it"""
    end: NDArray[np.int32]
    """the operation that ended it; -1: nothing in the trace did"""
    size: NDArray[np.uint64]
    """bytes, 0: not known"""
    kind: NDArray[np.uint8]
    """MemoryKind"""
    address: NDArray[np.uint64]
    pool: NDArray[np.uint16]
    """index in `pools`"""
    pools: tuple[str, ...]
    """what gives memory: index 0 is the driver itself, without a pool"""


DRIVER, DRIVERS_POOLS = "driver, no pool", "driver's pools (stream-ordered)"


def bars_of(
    slots: Slots, processes: NDArray[np.int64], calls: tuple[Call, ...], call: NDArray[np.uint32]
) -> MemoryBars:
    """Return the bars of a trace's drawn operations. `processes`: the process of each; `call`: its number in `calls`.

    A failed allocation or free does nothing. What is freed without a word of the trace (a context's end) ends with
    the reset or the process.
    """
    kinds, details = slots["kind"], slots["detail"]
    worked = (slots["status"] == 0) | (slots["status"] == STATUS_UNKNOWN)
    makes = (kinds == OperationKind.ALLOC) & worked & ~np.isin(details, UNDATED)
    frees = (kinds == OperationKind.FREE) & worked & (details != FreeClass.GRAPH_NODE)
    rows = np.flatnonzero((makes | frees) & (slots["address"] != 0))
    over = np.zeros(256, np.uint8)
    for family, memory in _FREES_OVER.items():
        over[family] = memory
    layer = np.where(makes[rows], np.where(np.isin(details[rows], OVERLAYS), details[rows], 0), over[details[rows]])
    # Of equal address, one behind the other: an allocation ends with what comes next, a free or another allocation.
    order = np.lexsort((rows, slots["address"][rows], layer, processes[rows]))
    sorted_rows = rows[order]
    same = np.zeros(len(rows), np.bool_)
    if len(rows) > 1:
        same[:-1] = (
            (np.diff(slots["address"][sorted_rows]) == 0)
            & (np.diff(layer[order]) == 0)
            & (np.diff(processes[sorted_rows]) == 0)
        )
    following = np.full(len(rows), NOT_FREED, np.int64)
    following[np.flatnonzero(same)] = sorted_rows[np.flatnonzero(same) + 1]
    made = makes[sorted_rows]
    begin, end = sorted_rows[made], following[made]
    by_age = np.argsort(begin, kind="stable")
    begin, end = begin[by_age], end[by_age]
    end = _ended_with_all(slots, processes, begin, end)
    pool, pools = _pools(slots, begin, calls, call)
    return MemoryBars(
        begin.astype(np.uint32),
        end.astype(np.int32),
        slots["size"][begin],
        details[begin],
        slots["address"][begin],
        pool,
        pools,
    )


def _ended_with_all(
    slots: Slots, processes: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the ends, where what is left ends with the reset of its device, or its process."""
    resets = np.flatnonzero(np.isin(slots["kind"], ENDS_ALL))
    for process in set(processes[resets].tolist()):
        own = resets[processes[resets] == process]
        after = np.searchsorted(own, begin)
        ending = np.where(after < len(own), own[np.minimum(after, len(own) - 1)], NOT_FREED)
        mine = processes[begin] == process
        earlier = mine & (ending != NOT_FREED) & ((end == NOT_FREED) | (ending < end))
        end = np.where(earlier, ending, end)
    return end


def _pools(
    slots: Slots, begin: NDArray[np.int64], calls: tuple[Call, ...], call: NDArray[np.uint32]
) -> tuple[NDArray[np.uint16], tuple[str, ...]]:
    names = [DRIVER, DRIVERS_POOLS]
    kinds = slots["detail"][begin]
    result = np.where(kinds == MemoryKind.STREAM_ORDERED, 1, 0).astype(np.uint16)
    blocks = np.flatnonzero(kinds == MemoryKind.POOL_BLOCK)
    for number in sorted(set(call[begin[blocks]].tolist())):
        name = calls[number].api.split("::")[0] or "a pool of the program"
        if name not in names:
            names.append(name)
        result[blocks[call[begin[blocks]] == number]] = names.index(name)
    return result, tuple(names)
