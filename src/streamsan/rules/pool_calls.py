"""What a pool does is said by its own code; a finding is about those who call the pool."""

from __future__ import annotations

from pathlib import PurePath

from msgspec.structs import replace

from streamsan.order.facts import Fact, Operation
from streamsan.rules.case import Names
from streamsan.vocabulary import MemoryKind, OperationKind, RelatedRole

_INTERFACE = ("streamsan", "pools", "__init__.py")
"""the file of the functions by which pools in Python speak, as a recorded stack has it"""
_NVTX = "nvtxMem"
"""begins the functions by which pools in C and C++ tell NVTX, which are compiled into the program from its headers"""
_SAID = frozenset(
    f"{by}{word}" for by in ("streamsan_", "streamsan.pools.") for word in ("hand_out", "take_back", "record_stream")
)


def seen_by_callers(names: Names, fact: Fact) -> Fact:
    """Return the fact with what pools of the program said in the places where the program called the pool."""
    if fact.allocation is None or fact.allocation.kind is not MemoryKind.POOL_BLOCK:
        return fact
    related = tuple((role, _moved(names, operation)) for role, operation in fact.related)
    made = next((operation.site for role, operation in related if role is RelatedRole.ALLOC), fact.allocation.site)
    allocation = replace(fact.allocation, site=made)
    return replace(fact, operation=_moved(names, fact.operation), related=related, allocation=allocation)


def is_own_pools(api: str) -> bool:
    """Tell whether what a call says was said by a pool of the program, and not by a framework's."""
    return api in _SAID or api.startswith(_NVTX)


def _moved(names: Names, operation: Operation) -> Operation:
    of_pool = operation.kind in (OperationKind.ALLOC, OperationKind.FREE, OperationKind.BLOCK_STREAM)
    if not of_pool or not is_own_pools(names.apis[operation.api]):
        return operation
    return replace(operation, site=_caller(names, operation.site))


def _caller(names: Names, number: int) -> int:
    """Return the site at which the function was called that spoke for the pool; its own where that is not known."""
    site = names.site(number)
    path = PurePath(site.file)
    if (path.parts[-3:] == _INTERFACE or site.function.startswith(_NVTX)) and site.caller:
        number, site = site.caller, names.site(site.caller)
    caller = names.site(site.caller)
    return site.caller if caller.line else number
