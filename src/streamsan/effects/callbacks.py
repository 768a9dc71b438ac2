"""The entry points that a recorder is called back for: CUPTI's callback ids, joined with the effects table by name.

`callbacks.json` of a platform holds facts about the interface, extracted from NVIDIA's headers by `extract_callbacks`:
for each domain and function its id, and the members of its parameter structure as `name:offset:size`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from streamsan.effects.api import Api
from streamsan.effects.roles import Effect, Role
from streamsan.effects.signature import Parameter, Signature
from streamsan.effects.table import Effects
from streamsan.patterns.late_pattern import late_pattern

MOST_PARAMETERS = 16
"""As many as a row of the C++ table holds."""

_RUNTIME_VERSION = late_pattern(r"_v\d{4,5}$")
_QUERY = late_pattern(r"cu(da)?\w*Get(?!MemHandle|EventHandle)")

_NOTHING_TO_RECORD = frozenset(
    {
        Effect.PURE,
        Effect.CALL,
        Effect.GET_DEVICE,
        Effect.DEVICE_COUNT,
        Effect.DEVICE_HANDLE,
        Effect.CONTEXT_GET,
        Effect.STREAM_CONTEXT,
        Effect.CAPTURE_INFO,
        Effect.GRAPH_QUERY,
        Effect.GRAPH_NODE_GET,
        Effect.GRAPH_MEMORY,
    }
)
"""Effects that change neither memory nor order, and say nothing about either."""

_ALSO = frozenset({"cuCtxDetach", "cuModuleGetGlobal", "cuLibraryGetGlobal", "cuLibraryGetManaged", "cuModuleUnload",
                   "cuLibraryUnload", "cuParamSetv", "cuParamSeti", "cuParamSetf", "cuFuncSetBlockShape",
                   "cuFuncSetSharedSize", "cuModuleLoad", "cuModuleLoadData", "cuModuleLoadDataEx",
                   "cuModuleLoadFatBinary", "cuModuleGetFunction", "cuLibraryLoadData",
                   "cuLibraryLoadFromFile", "cuMemExportToShareableHandle", "cuMemGetHandleForAddressRange",
                   "cuMulticastBindMem", "cuTexObjectCreate", "cuTexObjectDestroy", "cuSurfObjectCreate",
                   "cuSurfObjectDestroy"})  # fmt: skip
"""Driver calls whose effect in the model is none, and that a recorder needs: they end a context or handles of kernels,
name memory, load code, say what launches are given or reach memory by, or let others than this process write to it."""

_HOT_EFFECTS = frozenset({Effect.LAUNCH, Effect.STREAM_QUERY, Effect.EVENT_QUERY, Effect.EVENT_RECORD,
                          Effect.STREAM_WAIT_EVENT, Effect.GRAPH_LAUNCH, Effect.GET_DEVICE, Effect.CAPTURE_INFO,
                          Effect.STREAM_MEMORY_OP, Effect.HOST_FUNCTION, Effect.PREFETCH})  # fmt: skip
_HOT_NAMES = frozenset(
    {
        "cudaFreeAsync",
        "cudaGetLastError",
        "cudaMallocAsync",
        "cudaMallocFromPoolAsync",
        "cudaPeekAtLastError",
        "cudaThreadExchangeStreamCaptureMode",
    }
)
_LEFT_OUT_RUNTIME = frozenset(
    {
        "cudaCreateChannelDesc",
        "cudaDriverGetVersion",
        "cudaGetErrorName",
        "cudaGetErrorString",
        "cudaGetExportTable",
        "cudaRuntimeGetVersion",
    }
)
"""Runtime functions that touch no device: they are no use of CUDA, in a forked child either."""


class Member(Struct, frozen=True):
    """One member of a callback's parameter structure."""

    name: str
    offset: int
    size: int


class Callback(Struct, frozen=True, dict=True):
    """One entry point: a callback id, the layout of its parameters, and the API that it is."""

    domain: str
    """`driver` or `runtime`"""
    spelling: str
    """as CUPTI's enumerator ends: `cuMemAlloc_v2_ptsz`, `cudaMalloc_v3020`"""
    number: int
    members: tuple[Member, ...]
    api: Api | None
    """None: the effects table has no such function"""

    @cached_property
    def spelling_less_version(self) -> str:
        """The exported name: a runtime enumerator also ends in the CUDA version that brought it."""
        return exported(self.domain, self.spelling)

    @property
    def per_thread(self) -> bool:
        """Whether stream 0 is the per-thread default stream here."""
        return Effects.per_thread(self.spelling_less_version)

    @cached_property
    def hot(self) -> bool:
        """Whether a program may call this runtime function so often that a callback for it would show."""
        if self.domain != "runtime" or self.api is None:
            return False
        effect, name = self.api.effect, self.api.name
        if effect in _HOT_EFFECTS or name in _HOT_NAMES:
            return True
        if self.api.effect in (Effect.COPY, Effect.MEMSET):
            return self.api.wait == "asynchronous"
        return effect in (*_NOTHING_TO_RECORD, Effect.HANDLE_USE, Effect.INSPECT) and _is_question(self.api)

    @cached_property
    def recorded(self) -> bool:
        """Whether a recorder wants to be called back for it."""
        if self.api is None:
            return False
        name, effect = self.api.name, self.api.effect
        if not self.members and self.version is not None and self.version.parameters:
            return False  # no published header says where its arguments are
        if self.domain == "runtime":
            return name not in _LEFT_OUT_RUNTIME
        if name in _ALSO:
            return True
        if effect in (Effect.HANDLE_USE, Effect.INSPECT, Effect.GRAPH_NODE_ATTRIBUTE):
            return _QUERY.match(name) is None
        return effect not in _NOTHING_TO_RECORD

    @cached_property
    def version(self) -> Signature | None:
        """The published argument list that the parameter structure is."""
        if self.api is None or not self.api.versions:
            return None
        return max(self.api.versions, key=self._agreement)

    def _agreement(self, version: Signature) -> tuple[bool, int]:
        parameters = [parameter.name for parameter in version.parameters]
        members = [member.name for member in self.members]
        same = sum(1 for name in members if name in parameters)
        return len(parameters) == len(members), same

    def parameter(self, position: int) -> Parameter | None:
        """Return what the effects table says of the member at this position; None if nothing."""
        if self.version is None:
            return None
        parameters = self.version.parameters
        if len(parameters) == len(self.members):
            return parameters[position]
        name = self.members[position].name
        return next((parameter for parameter in parameters if parameter.name == name), None)


def exported(domain: str, spelling: str) -> str:
    """Return a function's exported name from the enumerator of its callback."""
    return _RUNTIME_VERSION.sub("", spelling) if domain == "runtime" else spelling


def _is_question(api: Api) -> bool:
    return re.match(r"cuda(\w*Get|Occupancy|\w*Can|ChooseDevice|PeekAt)", api.name) is not None


def callbacks(table: Effects, source: Path) -> Iterator[Callback]:
    """Yield every entry point of the driver, then of the runtime, in order of their ids."""
    document = json.loads(source.read_text(encoding="utf-8"))
    for domain in ("driver", "runtime"):
        rows: dict[str, tuple[int, str]] = document[domain]
        for spelling, (number, layout) in sorted(rows.items(), key=lambda row: row[1][0]):
            yield Callback(domain, spelling, number, tuple(_members(layout)), table.find(exported(domain, spelling)))


def _members(layout: str) -> Iterator[Member]:
    for part in layout.split():
        name, offset, size = part.split(":")
        yield Member(name, int(offset), int(size))


def role_of(callback: Callback, position: int) -> tuple[Role, str]:
    """Return the role of a member, and which handle it is; VALUE where the effects table does not say."""
    parameter = callback.parameter(position)
    return (Role.VALUE, "") if parameter is None else (parameter.role, parameter.handle)
