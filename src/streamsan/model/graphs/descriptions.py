"""What a node does, from the parameters that a program gives: each kind of node as the same call on a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from streamsan.effects import Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.graphs.recording import Recorded, same_call, work_of
from streamsan.model.statuses import INVALID_VALUE, SUCCESS
from streamsan.model.streams_and_graphs import Event, Node
from streamsan.model.values import Fields, KernelArguments, Value
from streamsan.model.work import NoWork, Work
from streamsan.trace.references import Reference
from streamsan.vocabulary import NodeKind

KERNEL, MEMCPY, MEMSET, HOST, CHILD, EMPTY, EVENT_WAIT, EVENT_RECORD = range(8)
SEMAPHORE_SIGNAL, SEMAPHORE_WAIT, MEM_ALLOC, MEM_FREE, BATCH_MEM_OP, CONDITIONAL = range(8, 14)
"""cudaGraphNodeType and CUgraphNodeType."""

_TYPES = (
    # type, what a launch does, where the generic parameters keep those of the type, the word in names of calls
    (KERNEL, NodeKind.KERNEL, "kernel", "KernelNode"),
    (MEMCPY, NodeKind.COPY, "memcpy.copyParams", "MemcpyNode"),
    (MEMSET, NodeKind.MEMSET, "memset", "MemsetNode"),
    (HOST, NodeKind.HOST, "host", "HostNode"),
    (CHILD, NodeKind.EMPTY, "graph", "ChildGraphNode"),
    (EMPTY, NodeKind.EMPTY, "", "EmptyNode"),
    (EVENT_WAIT, NodeKind.EVENT_WAIT, "eventWait", "EventWaitNode"),
    (EVENT_RECORD, NodeKind.EVENT_RECORD, "eventRecord", "EventRecordNode"),
    (SEMAPHORE_SIGNAL, NodeKind.OPAQUE, "extSemSignal", "ExternalSemaphoresSignalNode"),
    (SEMAPHORE_WAIT, NodeKind.OPAQUE, "extSemWait", "ExternalSemaphoresWaitNode"),
    (MEM_ALLOC, NodeKind.ALLOC, "alloc", "MemAllocNode"),
    (MEM_FREE, NodeKind.FREE, "free", "MemFreeNode"),
    (BATCH_MEM_OP, NodeKind.STREAM_MEMORY_OP, "memOp", "BatchMemOpNode"),
    (CONDITIONAL, NodeKind.EMPTY, "conditional", ""),
)
KIND_OF = {type: kind for type, kind, _, _ in _TYPES}
MEMBER = {type: member for type, _, member, _ in _TYPES if member}
TYPE_IN_NAME = {word: type for type, _, _, word in _TYPES if word}

KERNEL_FIELDS = {
    f"{word}{axis.upper()}": f"{word}.{axis}" for word in ("gridDim", "blockDim") for axis in ("x", "y", "z")
}
"""The driver's names of a kernel's dimensions -> the runtime's."""

_ELEMENTS = {1: "8", 2: "16", 4: "32"}
_VALUES = {1: "uc", 2: "us", 4: "ui"}


class Description(Struct):
    """What a node does, before it is in a graph or takes the place of what a node did."""

    type: int
    kind: NodeKind
    parameters: dict[str, Value] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()
    work: Work = field(default_factory=NoWork)
    further: tuple[Work, ...] = ()
    event: Event | None = None
    kernel_arguments: KernelArguments | None = None
    payload: object = None
    site: int = 0
    """where it was described, labelled with the kernel's name; 0: the node's own"""

    def put_into(self, node: Node) -> None:
        """Make a node do this."""
        node.type, node.kind, node.parameters = self.type, self.kind, self.parameters
        node.references, node.work, node.further = self.references, self.work, self.further
        node.event, node.kernel_arguments, node.payload = self.event, self.kernel_arguments, self.payload
        node.site = self.site or node.site


def type_of(call: Call) -> int | None:
    """Return the type of the node that a call adds or sets; None: the generic call was given none that is known."""
    name = call.api.name
    for word, number in TYPE_IN_NAME.items():
        if word in name:
            return number
    for fields in call.structures.values():
        given = fields.get("type")
        if isinstance(given, int):
            return given if given in KIND_OF else None
    return None


def fields_of(call: Call, type: int) -> dict[str, Value]:
    """Return the parameters of a node that a call is given, without the member's name that the generic calls have."""
    parameter = call.signature.first(Role.STRUCTURE)
    names = [each.name for each in call.signature.with_role(Role.STRUCTURE)]
    name = next((each for each in names if each not in ("dependencyData", "edgeData")), None)
    if parameter is None or name is None:
        return _plain_fields(call)
    fields = call.structures.get(name, {})
    if any(word in call.api.name for word in TYPE_IN_NAME):
        return dict(fields)
    member = MEMBER.get(type, "") + "."
    return {key.removeprefix(member): value for key, value in fields.items() if key.startswith(member)}


def _plain_fields(call: Call) -> dict[str, Value]:
    """Return the arguments that describe a node where they are arguments of their own (Memcpy1D, an event, ...)."""
    left_out = (Role.OUT_HANDLE, Role.LIST)
    return {
        parameter.name: call.values[parameter.name]
        for parameter in call.signature.parameters
        if parameter.role not in left_out
        and parameter.handle not in ("graph", "graph_exec", "node")
        and parameter.name != "numDependencies"
        and parameter.name in call.values
    }


def describe(core: ModelCore, call: Call, type: int, before: Node | None = None) -> tuple[int, Description]:
    """Return status and description of the node that a call describes. `before` is the node whose parameters it sets.

    Child graphs, conditional bodies and memory are the business of whoever puts the node into a graph.
    """
    fields = fields_of(call, type)
    description = Description(type, KIND_OF[type], fields)
    if type in (EVENT_RECORD, EVENT_WAIT):
        description.event = core.event_of(call.thread, fields.get("event"), call.site)
        status = SUCCESS if description.event.alive else INVALID_VALUE
        return status, description
    if type in (KERNEL, HOST):
        description.kernel_arguments, description.payload = call.kernel_arguments, call.payload
        if before is not None and call.kernel_arguments is None and call.payload is None:
            # Parameters that came from GetParams and go back: the arguments behind them stay.
            description.kernel_arguments, description.payload = before.kernel_arguments, before.payload
    as_call = _AS_CALL.get(type)
    if as_call is None:
        return SUCCESS, description
    same = as_call(call, fields)
    same.kernel_arguments, same.payload = description.kernel_arguments, description.payload
    status, recorded = work_of(core, same)
    put_work(description, recorded)
    return status, description


def put_work(description: Description, recorded: list[Recorded]) -> None:
    """Give a description the work that a call would have issued, as one node."""
    works = [work for each in recorded for work in each.work]
    if works:
        description.work, description.further = works[0], tuple(works[1:])
    description.references = tuple(reference for each in recorded for reference in each.references)
    description.site = recorded[0].site if recorded else 0


def _kernel(call: Call, fields: Fields) -> Call:
    renamed = {driver: fields[runtime] for driver, runtime in KERNEL_FIELDS.items() if runtime in fields}
    return same_call(call, "cuLaunchKernel", {**fields, **renamed, "f": fields.get("func")})


def _copy(call: Call, fields: Fields) -> Call:
    name = call.api.name
    for word in ("ToSymbol", "FromSymbol"):
        if word in name:
            return same_call(call, f"cudaMemcpy{word}Async", fields)
    if name.endswith("1D"):
        return same_call(call, "cudaMemcpyAsync", fields)
    if call.api.domain == "driver":
        return same_call(call, "cuMemcpy3DAsync", {"pCopy": 1}, structures={"pCopy": fields})
    return same_call(call, "cudaMemcpy3DAsync", {"p": 1}, structures={"p": fields})


def _fill(call: Call, fields: Fields) -> Call:
    element = fields.get("elementSize")
    if not isinstance(element, int) or element not in _ELEMENTS:
        return same_call(call, "cuMemsetD8Async", {"dstDevice": fields.get("dst"), "uc": 0})
    bits = _ELEMENTS[element]
    values: dict[str, Value] = {"dstDevice": fields.get("dst"), _VALUES[element]: fields.get("value")}
    if fields.get("height") == 1:  # the pitch is unused then
        return same_call(call, f"cuMemsetD{bits}Async", values | {"N": fields.get("width")})
    values |= {"dstPitch": fields.get("pitch"), "Width": fields.get("width"), "Height": fields.get("height")}
    return same_call(call, f"cuMemsetD2D{bits}Async", values)


def _host(call: Call, fields: Fields) -> Call:
    return same_call(call, "cudaLaunchHostFunc", fields)


def _memory_operations(call: Call, fields: Fields) -> Call:
    operations = {
        key.removeprefix("paramArray."): value for key, value in fields.items() if key.startswith("paramArray.")
    }
    return same_call(
        call,
        "cuStreamBatchMemOp",
        {"count": fields.get("count"), "paramArray": 1, "flags": fields.get("flags", 0)},
        structures={"paramArray": operations},
    )


_AS_CALL: Mapping[int, Callable[[Call, Fields], Call]] = {
    KERNEL: _kernel,
    MEMCPY: _copy,
    MEMSET: _fill,
    HOST: _host,
    BATCH_MEM_OP: _memory_operations,
}


def captured_parameters(call: Call, type: int) -> dict[str, Value]:
    """Return what GetParams gives of a node that a call on a stream became."""
    values = call.values
    if type == KERNEL:
        found: dict[str, Value] = {"func": call.value(Role.FUNCTION)}
        for name in ("gridDim", "blockDim"):
            for key, value in call.structures.get(name, {}).items():
                found[f"{name}.{key}"] = value
        for fields in call.structures.values():  # a launch configuration
            found |= {key: value for key, value in fields.items() if key.startswith(("gridDim", "blockDim"))}
            if "dynamicSmemBytes" in fields:
                found["sharedMemBytes"] = fields["dynamicSmemBytes"]
        for name in ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ", "sharedMemBytes"):
            if name in values:
                found[name] = values[name]
        if "sharedMem" in values:
            found["sharedMemBytes"] = values["sharedMem"]
        return found
    if type == HOST:
        return {"fn": call.value(Role.FUNCTION), "userData": call.value(Role.USER_DATA)}
    if type == MEMCPY:
        for fields in call.structures.values():
            return dict(fields)
    return {}
