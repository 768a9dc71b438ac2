"""What operations are: the distinct calls of a trace, by kind, API and call site. A loop's rounds share one."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.platforms import platform_of_call
from streamsan.rules.launch_names import kernel_name
from streamsan.trace import Trace
from streamsan.trace.store import Slots
from streamsan.vocabulary import OperationKind

_WORDS = {
    OperationKind.LAUNCH: "kernel",
    OperationKind.COPY: "copy",
    OperationKind.MEMSET: "fill",
    OperationKind.PREFETCH: "prefetch",
    OperationKind.HOST_FUNCTION: "host function",
    OperationKind.HOST_ACCESS: "host access",
    OperationKind.GRAPH_NODE: "node",
    OperationKind.GRAPH_LAUNCH: "graph launch",
    OperationKind.ALLOC: "allocation",
    OperationKind.FREE: "free",
}


class Call(Struct, frozen=True):
    """One call of the program, however often it was made."""

    kind: str
    """an OperationKind's name in lower case"""
    name: str
    """what runs: a kernel's name, else the API's"""
    api: str
    """the API that was called, "" where there is none"""
    file: str
    line: int
    """0: not known"""
    function: str
    memory: str
    """what the program calls the memory that is allocated there, "" where that is not known"""


def calls_of(trace: Trace, slots: Slots) -> tuple[tuple[Call, ...], NDArray[np.uint32]]:
    """Return the distinct calls, and which of them each operation is."""
    keys = (
        slots["site"].astype(np.uint64) << np.uint64(32)
        | slots["api"].astype(np.uint64) << np.uint64(16)
        | slots["kind"].astype(np.uint64)
    )
    distinct, numbers = np.unique(keys, return_inverse=True)
    calls = tuple(call_of(trace, key >> 32, key >> 16 & 0xFFFF, key & 0xFFFF) for key in map(int, distinct))
    return calls, numbers.astype(np.uint32)


def call_of(trace: Trace, site_number: int, api_number: int, kind_number: int) -> Call:
    """Return one call by the numbers that a slot has."""
    site = trace.site(site_number)
    api = trace.apis[api_number] if 0 < api_number < len(trace.apis) else ""
    # A recorder sees hot calls in the driver only; the stack knows which function of the runtime was called.
    if site.runtime and platform_of_call(api, trace.platform).is_low_level(api):
        api = site.runtime
    kinds = OperationKind._value2member_map_
    kind = kinds.get(kind_number, OperationKind.CALL)
    assert isinstance(kind, OperationKind)
    name = api
    if kind in (OperationKind.LAUNCH, OperationKind.GRAPH_NODE) and site.label:
        name = kernel_name(site.label)
    elif kind is OperationKind.HOST_FUNCTION and site.label:
        name = site.label
    name = name or _WORDS.get(kind, kind.name.lower().replace("_", " "))
    memory = site.label if kind is OperationKind.ALLOC else ""
    return Call(kind.name.lower(), name, api, site.file or trace.path, site.line, site.function, memory)
