"""Stream memory operations: waits for, and writes of, values in memory."""

from __future__ import annotations

from msgspec.structs import replace

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.ranges import range_status
from streamsan.model.statuses import INVALID_VALUE, SUCCESS
from streamsan.model.streams import status_of, stream_argument
from streamsan.model.values import Outcome, Value
from streamsan.model.work import NoWork, ValueWork, Work
from streamsan.platforms import CUDA
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, OperationKind, ValueOperation, WaitClass

CONDITIONS = ("geq", "eq", "and", "nor")
"""CUstreamWaitValue_flags"""
_OPERATIONS = {
    CUDA.constants["CU_STREAM_MEM_OP_WAIT_VALUE_32"]: ("waitValue", 4),
    CUDA.constants["CU_STREAM_MEM_OP_WAIT_VALUE_64"]: ("waitValue", 8),
    CUDA.constants["CU_STREAM_MEM_OP_WRITE_VALUE_32"]: ("writeValue", 4),
    CUDA.constants["CU_STREAM_MEM_OP_WRITE_VALUE_64"]: ("writeValue", 8),
}
"""CUstreamBatchMemOpType -> the member of the union, and the value's bytes; the others touch no memory"""
LONGEST_BATCH = 256
WRITES = ("write", "unfenced")
NO_MEMORY_BARRIER = 1
"""CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER"""
_DETAILS = {
    "write": ValueOperation.WRITE,
    "geq": ValueOperation.WAIT_GEQ,
    "eq": ValueOperation.WAIT_EQ,
    "and": ValueOperation.WAIT_AND,
    "nor": ValueOperation.WAIT_NOR,
}
WIDE = ValueOperation.WRITE_64 - ValueOperation.WRITE
"""what a word of 64 bits adds to a ValueOperation"""
_WORKS = {
    detail + (WIDE if size == 8 else 0): (condition, size) for condition, detail in _DETAILS.items() for size in (4, 8)
}
"""ValueOperation -> the condition, and the word's bytes"""

Step = tuple[Value, int, Value, str]
"""Address, bytes, value, "write" or the condition of a wait; "unfenced" is a write that may overtake those before it,
"unknown" a wait of which nobody knows the condition."""


@handles(Effect.STREAM_MEMORY_OP)
def stream_memory_op(core: ModelCore, call: Call) -> Outcome:
    """Wait for, or write, values in memory. Each step is an operation of its own; of a capture all are one node."""
    stream = stream_argument(core, call)
    steps = steps_of(call)
    status = status_of(stream) or _status(core, call, steps)
    said = [] if status or stream.capture is not None else _operations(core, call, steps)
    for detail, references in said or [(ValueOperation.UNKNOWN, step_references(core, call, steps))]:
        core.say(
            call,
            OperationKind.STREAM_MEMORY_OP,
            stream=stream.handle,
            references=references,
            detail=detail,
            status=status,
        )
    if not status:
        for work in works_of(core, call, steps):
            core.executor.enqueue(call.thread, stream, work, WaitClass.NONE)
    return Outcome(status)


def value_work_of(detail: int, address: int, value: int) -> ValueWork | None:
    """Return what an operation in a trace does with a value, by its detail; None: not known."""
    known = _WORKS.get(detail)
    return None if known is None else ValueWork(address, known[1], value, known[0])


def steps_of(call: Call) -> list[Step]:
    """Return what the call does, one step for each value; nothing where a batch is not known."""
    if not call.has(Role.LIST):
        writes = call.has(Role.WRITE)
        flags = call.number(Role.FLAGS)
        size = 8 if call.api.name.endswith("64") else 4
        condition = _condition(flags, writes=writes)
        return [(call.value(Role.WRITE if writes else Role.READ), size, call.value(Role.VALUE), condition)]
    found: list[Step] = []
    parameter = call.signature.first(Role.LIST)
    fields = call.structures.get(parameter.name, {}) if parameter is not None else {}
    for index in range(min(_number(call.values.get("count")), LONGEST_BATCH)):
        operation = fields.get(f"{index}.operation")
        if not isinstance(operation, int) or operation not in _OPERATIONS:
            continue
        member, size = _OPERATIONS[operation]
        prefix = f"{index}.{member}."
        value = fields.get(prefix + ("value64" if size == 8 else "value"), fields.get(prefix + "value"))
        condition = _condition(fields.get(prefix + "flags", 0), writes=member == "writeValue")
        found.append((fields.get(prefix + "address"), size, value, condition))
    return found


def _condition(flags: Value, *, writes: bool) -> str:
    if writes:
        return "unfenced" if flags == NO_MEMORY_BARRIER else "write"
    return CONDITIONS[flags & 3] if isinstance(flags, int) else "unknown"


def step_references(core: ModelCore, call: Call, steps: list[Step]) -> list[Reference]:
    """Return the memory that the steps touch."""
    references = []
    for address, _, _, condition in steps:
        mode = AccessMode.WRITE if condition in WRITES else AccessMode.READ
        reference = core.reference(call.thread, address, None, mode, call.site)
        if reference is not None:
            references.append(reference)
    return references


def _operations(core: ModelCore, call: Call, steps: list[Step]) -> list[tuple[ValueOperation, list[Reference]]]:
    found = []
    for address, size, value, condition in steps:
        references = step_references(core, call, [(address, size, value, condition)])
        pointer = core.pointer_of(call.thread, address, call.site)
        detail = ValueOperation.UNKNOWN
        known = condition in _DETAILS and pointer is not None and pointer.exact
        if references and known and isinstance(value, int):
            detail = ValueOperation(_DETAILS[condition] + (WIDE if size == 8 else 0))
            references = [replace(references[0], size=value & ((1 << 8 * size) - 1))]
        found.append((detail, references))
    return found


def works_of(core: ModelCore, call: Call, steps: list[Step]) -> list[Work]:
    """Return what the steps do to bytes."""
    works: list[Work] = []
    for address, size, value, condition in steps:
        pointer = core.pointer_of(call.thread, address, call.site)
        if pointer is None or not pointer.exact or not isinstance(value, int):
            works.append(NoWork())
        else:
            what = "write" if condition in WRITES else condition
            works.append(ValueWork(pointer.address, size, value & ((1 << 8 * size) - 1), what))
    return works


def _status(core: ModelCore, call: Call, steps: list[Step]) -> int:
    for address, size, _, _ in steps:
        if status := range_status(core, call, address, size):
            return status
        if core.machine is not None and isinstance(address, int) and address % size:
            return INVALID_VALUE
    return SUCCESS


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0
