"""OpenCL's transitions: every function with any arguments; counts, parts and maps; what stands in the trace."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from row_groups import check_apis, families
from streamsan.effects import Api
from streamsan.model.device_model import DeviceModel
from streamsan.model.opencl.objects import KernelText
from streamsan.model.opencl.registered_calls import HANDLERS
from streamsan.model.values import Handle, Outcome, Pointer, Symbol, Value
from streamsan.platforms import OPENCL
from streamsan.trace import TraceBuilder
from streamsan.trace.store import owners
from streamsan.trace.view import iterate
from streamsan.vocabulary import AccessMode, FreeClass, MarkerKind, OperationKind, StreamKind, WaitClass

ALL = list(OPENCL.effects)
WILD = [None, 0, 1, -5, 1 << 70, 2.5, "text", Symbol(1, "a", "parameter"), Symbol(2, "b", "uninitialised"),
        Pointer(4096, 4096, 99), Handle("memory", 77), Handle("event", 1)]  # fmt: skip
COPY_HOST, OUT_OF_ORDER = 32, 1


class Program:
    """One thread that makes OpenCL calls."""

    def __init__(self) -> None:
        self.builder = TraceBuilder("program.c", "opencl")
        self.model = DeviceModel(self.builder)
        self.thread = self.model.main_thread

    def call(self, api: str, *arguments: Value, **details: Any) -> Outcome:
        return self.model.call(self.thread, api, arguments, 0, **details)

    def make(self, api: str, *arguments: Value, **details: Any) -> Any:
        return self.call(api, *arguments, **details).outputs["return"]

    def queue(self, properties: int = 0) -> Any:
        return self.make("clCreateCommandQueue", self.context, 0, properties, 0)

    @property
    def context(self) -> Any:
        return self.make("clCreateContext", 0, 0, 0, 0, 0, 0)

    def buffer(self, size: int = 4096) -> Any:
        return self.make("clCreateBuffer", self.context, 1, size, 0, 0)

    def operations(self) -> list[tuple[OperationKind, int, int]]:
        """Kind, detail and status of each operation after the context's."""
        found = []
        for chunk in self.builder.finish().chunks():
            for slot in chunk[owners(chunk)]:
                found.append((OperationKind(int(slot["kind"])), int(slot["detail"]), int(slot["status"])))
        return found


def kinds(program: Program) -> list[OperationKind]:
    return [kind for kind, _, _ in program.operations()]


def test_every_effect_has_a_handler() -> None:
    assert set(HANDLERS) == {api.effect for api in ALL}


@pytest.mark.parametrize("family", families(ALL))
def test_any_call_is_survived(family: list[Api]) -> None:
    check_apis(family, survived)


def survived(api: Api) -> None:
    program = Program()
    most = max(len(version.parameters) for version in api.versions)
    for count in range(most + 2):
        for shift in range(len(WILD)):
            arguments = list(itertools.islice(itertools.cycle(WILD), shift, shift + count))
            outcome = program.call(api.name, *arguments)
            names = {parameter.name for version in api.versions for parameter in version.parameters} | {"return"}
            assert set(outcome.outputs) <= names
    program.builder.finish()


def enqueue(program: Program, api: str, *arguments: Value, events: Sequence[Value] = (), **details: Any) -> Outcome:
    """Make a call whose last arguments are a wait list and an event."""
    structures = {"event_wait_list": {str(number): event for number, event in enumerate(events)}}
    structures |= details.pop("structures", {})
    given = (len(events), 1 if events else 0, 1)
    return program.call(api, *arguments, *given, structures=structures, **details)


def test_release_counts() -> None:
    program = Program()
    buffer = program.buffer()
    program.call("clRetainMemObject", buffer)
    program.call("clReleaseMemObject", buffer)
    assert OperationKind.FREE not in kinds(program)
    program.call("clReleaseMemObject", buffer)
    assert program.operations()[-1] == (OperationKind.FREE, FreeClass.CL_RELEASE, 0)
    status = program.call("clReleaseMemObject", buffer).status
    assert status == OPENCL.constants["CL_INVALID_MEM_OBJECT"]
    assert program.operations()[-1] == (OperationKind.FREE, FreeClass.CL_RELEASE, status)


def test_a_part_keeps_the_whole() -> None:
    program = Program()
    buffer = program.buffer()
    region = {"buffer_create_info": {"0.origin": 1024, "0.size": 512}}
    part = program.make("clCreateSubBuffer", buffer, 0, 0x1220, 1, 0, structures=region)
    program.call("clReleaseMemObject", buffer)
    assert OperationKind.FREE not in kinds(program)
    program.call("clReleaseMemObject", part)
    assert kinds(program)[-2:] == [OperationKind.HANDLE_DESTROY, OperationKind.FREE]


def test_queue_kinds() -> None:
    program = Program()
    program.queue()
    program.queue(OUT_OF_ORDER)
    properties = {"properties": {"0": 0x1093, "1": OUT_OF_ORDER, "2": 0}}
    program.make("clCreateCommandQueueWithProperties", program.context, 0, 1, 0, structures=properties)
    made = [detail for kind, detail, _ in program.operations() if kind is OperationKind.STREAM_CREATE]
    assert made == [StreamKind.NON_BLOCKING, StreamKind.OUT_OF_ORDER, StreamKind.OUT_OF_ORDER]


def test_a_command_stands_between_its_waits_and_its_event() -> None:
    program = Program()
    queue, buffer = program.queue(), program.buffer()
    first = enqueue(program, "clEnqueueFillBuffer", queue, buffer, 1, 4, 0, 4096).outputs["event"]
    enqueue(program, "clEnqueueReadBuffer", queue, buffer, 1, 0, 4096, None, events=[first])
    assert program.operations()[-4:] == [
        (OperationKind.STREAM_WAIT_EVENT, 0, 0),
        (OperationKind.COPY, WaitClass.COMPLETE, 0),
        (OperationKind.EVENT_CREATE, 0, 0),
        (OperationKind.EVENT_RECORD, 0, 0),
    ]


@pytest.mark.parametrize(
    ("api", "listed", "kind"),
    [
        ("clEnqueueMarkerWithWaitList", False, MarkerKind.ALL_BEFORE),
        ("clEnqueueMarkerWithWaitList", True, MarkerKind.WAIT_LIST),
        ("clEnqueueBarrierWithWaitList", False, MarkerKind.BARRIER_ALL),
        ("clEnqueueBarrierWithWaitList", True, MarkerKind.BARRIER_WAIT_LIST),
    ],
)
def test_markers(api: str, listed: bool, kind: MarkerKind) -> None:
    program = Program()
    queue = program.queue(OUT_OF_ORDER)
    event = program.make("clCreateUserEvent", program.context, 0)
    enqueue(program, api, queue, events=[event] if listed else [])
    marker = next(each for each in program.operations() if each[0] is OperationKind.QUEUE_MARKER)
    assert marker[1] == kind


def test_what_kernels_hold_is_used_as_their_text_says() -> None:
    program = Program()
    queue, buffer, other = program.queue(), program.buffer(), program.buffer()
    text = KernelText("f", ((AccessMode.READ, 0), None, (AccessMode.WRITE, 0)))
    kernel = program.make("clCreateKernel", 0, "f", 0, payload=text)
    for index, held in enumerate((buffer, buffer, other)):
        program.call("clSetKernelArg", kernel, index, 8, 1, structures={"arg_value": {"0": held}})
    enqueue(program, "clEnqueueNDRangeKernel", queue, kernel, 1, 0, 1, 0)
    (launch,) = [each for each in iterate(program.builder.finish()) if each.kind is OperationKind.LAUNCH]
    assert [reference.mode for reference in launch.references] == [AccessMode.READ, AccessMode.WRITE]


def test_mapping_gives_a_pointer_that_dies_with_the_unmap() -> None:
    program = Program()
    queue, buffer = program.queue(), program.buffer()
    pointer = program.call("clEnqueueMapBuffer", queue, buffer, 1, 3, 0, 4096, 0, 0, 0, 0).outputs["return"]
    assert isinstance(pointer, Pointer)
    program.call("clEnqueueUnmapMemObject", queue, buffer, pointer, 0, 0, 0)
    assert kinds(program)[-4:] == [OperationKind.COPY, OperationKind.ALLOC, OperationKind.FREE, OperationKind.COPY]


def test_unseen_code_may_hold_references() -> None:
    program = Program()
    buffer = program.buffer()
    program.model.opaque_call(program.thread, [buffer], 0, "register")
    program.call("clReleaseMemObject", buffer)
    program.call("clReleaseMemObject", buffer)
    assert OperationKind.FREE not in kinds(program)
