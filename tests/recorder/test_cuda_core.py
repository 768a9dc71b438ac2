"""The recorder's core, driven by synthetic callbacks under sanitizers: what its files say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from recorded_scenarios import UNITS

from sanitized_programs import UNDER_SANITIZERS, build, operations_of, run
from streamsan.trace import Trace, reader
from streamsan.vocabulary import CallClass, ContextKind, ExitKind, OperationKind, SlotFlag, StreamKind

PRIMARY, CREATED = 0xC0, 0xC1
UNKNOWN = -32768

Record = Callable[..., Trace]


@pytest.fixture(scope="module", params=UNDER_SANITIZERS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory, request.param, UNITS)


@pytest.fixture
def record(program: Path, tmp_path: Path) -> Record:
    def ran(scenario: str, settings: str = "") -> Trace:
        run(program, "core", scenario, tmp_path / "F.sst", settings)
        return reader.trace_of(reader.open_file(str(tmp_path / "F.sst")))

    return ran


def kinds(trace: Trace) -> list[str]:
    """The operations' kinds, less what every trace begins with."""
    names = [OperationKind(kind).name for kind in operations_of(trace)["kind"]]
    assert names[:2] == ["THREAD_START", "MAIN_BEGIN"]
    return names[2:]


def of_kind(trace: Trace, kind: OperationKind) -> np.ndarray:
    operations = operations_of(trace)
    return operations[operations["kind"] == kind]


def the(trace: Trace, kind: OperationKind) -> np.void:
    (operation,) = of_kind(trace, kind)
    return operation


def api(trace: Trace, operation: np.void) -> str:
    return trace.apis[operation["api"]]


def test_streams_and_events(record: Record) -> None:
    trace = record("streams_and_events")
    assert trace.complete
    assert kinds(trace) == [
        "CONTEXT_CREATE",
        "CONTEXT_CURRENT",
        "STREAM_CREATE",
        "STREAM_CREATE",
        "EVENT_CREATE",
        "EVENT_RECORD",
        "STREAM_WAIT_EVENT",
        "STREAM_WAIT_EVENT",
        "STREAM_QUERY",
        "EVENT_SYNCHRONIZE",
        "EVENT_ELAPSED",
        "STREAM_SYNCHRONIZE",
        "CONTEXT_SYNCHRONIZE",
        "EVENT_DESTROY",
        "STREAM_DESTROY",
    ]
    context = the(trace, OperationKind.CONTEXT_CREATE)
    assert (context["object"], context["detail"], context["address"]) == (PRIMARY, ContextKind.PRIMARY, 0)
    streams = of_kind(trace, OperationKind.STREAM_CREATE)
    assert streams["object"].tolist() == [0x51, 0x52]
    assert streams["detail"].tolist() == [StreamKind.BLOCKING, StreamKind.NON_BLOCKING]
    assert api(trace, streams[0]) == "cudaStreamCreateWithFlags"
    event = the(trace, OperationKind.EVENT_RECORD)
    assert (event["object"], event["stream"], api(trace, event)) == (0xE1, 0x51, "cuEventRecord")
    # Handle 0 is the legacy default stream, or the per-thread one through an entry point of its own.
    assert of_kind(trace, OperationKind.STREAM_WAIT_EVENT)["stream"].tolist() == [1, 2]
    assert the(trace, OperationKind.STREAM_QUERY)["status"] == 600
    elapsed = the(trace, OperationKind.EVENT_ELAPSED)
    assert (elapsed["object"], elapsed["address"], elapsed["status"]) == (0xE1, 0xE2, 400)
    assert the(trace, OperationKind.CONTEXT_SYNCHRONIZE)["object"] == PRIMARY
    site = trace.site(int(event["site"]))
    assert (site.file, site.line) == ("scenarios.cpp", 7)
    assert not np.any(operations_of(trace)["flags"])


def test_a_wait_is_numbered_when_it_returns(record: Record) -> None:
    trace = record("waits")
    other, own = of_kind(trace, OperationKind.LAUNCH)
    wait = the(trace, OperationKind.CONTEXT_SYNCHRONIZE)
    assert other["thread"] != own["thread"]
    assert other["sequence"] < wait["sequence"] < own["sequence"]
    assert wait["time"] < other["time"]
    hangs = the(trace, OperationKind.STREAM_SYNCHRONIZE)
    assert (hangs["status"], hangs["flags"]) == (UNKNOWN, SlotFlag.ENTER)


def test_contexts(record: Record) -> None:
    trace = record("contexts")
    made = of_kind(trace, OperationKind.CONTEXT_CREATE)
    assert made["detail"].tolist() == [ContextKind.PRIMARY, ContextKind.CREATED]
    assert made["address"].tolist() == [0, 1]
    current = of_kind(trace, OperationKind.CONTEXT_CURRENT)
    assert current["object"].tolist() == [PRIMARY, CREATED, PRIMARY, CREATED]
    assert current["status"].tolist() == [0, 0, 0, 201]
    ended = of_kind(trace, OperationKind.CONTEXT_DESTROY)
    assert ended["object"].tolist() == [CREATED, CREATED]
    assert ended["status"].tolist() == [0, 201]
    assert of_kind(trace, OperationKind.PEER_ENABLE)["status"].tolist() == [0, 704]
    assert the(trace, OperationKind.CONTEXT_SYNCHRONIZE)["object"] == PRIMARY
    assert len(of_kind(trace, OperationKind.CALL)) == 0


def test_a_reset_is_one_operation_at_its_beginning(record: Record) -> None:
    trace = record("resets")
    resets = of_kind(trace, OperationKind.DEVICE_RESET)
    assert [api(trace, reset) for reset in resets] == ["cudaDeviceReset", "cuDevicePrimaryCtxReset"]
    assert resets["object"].tolist() == [PRIMARY, PRIMARY]
    assert resets["status"].tolist() == [0, 0]
    ended = the(trace, OperationKind.CONTEXT_DESTROY)
    assert api(trace, ended) == "cuDevicePrimaryCtxRelease"
    assert len(of_kind(trace, OperationKind.CONTEXT_CREATE)) == 4


def explanations(trace: Trace) -> dict[str, str]:
    """The driver's words, by the API of the failed call before them."""
    slots = np.concatenate(list(trace.chunks()))
    found: dict[str, str] = {}
    failed = ""
    for slot in slots:
        if slot["kind"] == OperationKind.TEXT:
            raw = slot.tobytes()
            found[failed] = found.get(failed, "") + raw[: int.from_bytes(raw[56:58], "little")].decode()
        elif slot["detail"] != CallClass.EXPLAINED or slot["kind"] != OperationKind.CALL:
            failed = trace.apis[slot["api"]]
    return found


def test_failures_are_in_the_trace_with_the_drivers_words(record: Record) -> None:
    trace = record("failures")
    operations = operations_of(trace)
    told = [
        (OperationKind(each["kind"]).name, trace.apis[each["api"]], int(each["status"]))
        for each in operations
        if each["status"] != 0
    ]
    assert told == [
        ("LAUNCH", "cuLaunchKernel", 1),
        ("CALL", "cuMemAddressReserve", 1),
        ("CALL", "cudaSetDevice", 101),
        ("FREE", "cudaFree", 1),
        ("CALL", "cudaDeviceSetLimit", 1),
        ("STREAM_CREATE", "cudaStreamCreate", 2),
    ]
    assert explanations(trace) == {
        "cuLaunchKernel": "One or more of block dimensions of (4096,1,1) exceeds the limits of (1024,1024,64): "
        "no kernel can be launched so",
        "cuMemAddressReserve": "Invalid alignment",
        "cudaDeviceSetLimit": "Not supported here",
    }
    assert the(trace, OperationKind.FREE)["address"] == 0x7000


def test_calls_inside_calls_and_own_calls_are_not_recorded(record: Record) -> None:
    trace = record("nesting")
    assert of_kind(trace, OperationKind.LAUNCH)["stream"].tolist() == [1, 0x51]
    assert len(of_kind(trace, OperationKind.CALL)) == 0


def test_a_call_that_never_returned_does_not_swallow_the_next(record: Record) -> None:
    trace = record("exceptions")
    lost, next_one = of_kind(trace, OperationKind.LAUNCH)
    assert (lost["stream"], lost["status"], lost["flags"]) == (0x61, UNKNOWN, SlotFlag.ENTER)
    assert (next_one["stream"], next_one["status"], api(trace, next_one)) == (0x62, 0, "cuLaunchKernel")


def test_captured_calls_leave_nothing_but_failures(record: Record) -> None:
    trace = record("captures")
    assert of_kind(trace, OperationKind.LAUNCH)["stream"].tolist() == [0x52]
    refused = the(trace, OperationKind.STREAM_SYNCHRONIZE)
    assert (refused["stream"], refused["status"]) == (0x51, 900)
    assert of_kind(trace, OperationKind.STREAM_WAIT_EVENT)["stream"].tolist() == [0x54]


def test_several_threads(record: Record) -> None:
    trace = record("threads")
    assert trace.complete
    launches = of_kind(trace, OperationKind.LAUNCH)
    assert len(launches) == 4 * 2000
    for stream in range(0x100, 0x104):
        assert len(set(launches["thread"][launches["stream"] == stream].tolist())) == 1
    assert np.all(operations_of(trace)["status"] == 0)
    assert len(of_kind(trace, OperationKind.EVENT_DESTROY)) == 4 * 500


def metadata(path: Path) -> dict[str, object]:
    content = path.read_bytes()
    size = int.from_bytes(content[20:24], "little")
    found = json.loads(content[64 : 64 + size])
    assert isinstance(found, dict)
    return found


def test_a_forked_child_has_a_file_of_its_own(program: Path, tmp_path: Path) -> None:
    command = [str(program), "core", "forks", str(tmp_path / "F.sst"), f"run=a1b2\ncounter={tmp_path / 'counter'}\n"]
    printed = run(program, *command[1:])
    parent, child = map(int, printed.split())
    parents = reader.trace_of(reader.open_file(str(tmp_path / "F.sst")))
    childs = reader.trace_of(reader.open_file(str(tmp_path / f"F.{child}.sst")))
    fork = the(parents, OperationKind.FORK)
    assert fork["object"] == child
    failed = the(childs, OperationKind.CALL)
    assert (failed["status"], api(childs, failed)) == (3, "cudaLaunchKernel")
    own, inherited = metadata(tmp_path / "F.sst"), metadata(tmp_path / f"F.{child}.sst")
    assert [(each["process"], each["parent"], each["processes"]) for each in (own, inherited)] == [
        (parent, 0, [parent]),
        (child, parent, [child]),
    ]
    for each in (own, inherited):
        assert (each["run"], each["platform"], each["origin"]) == ("a1b2", "cuda", "recording")
        assert each["clock_origin"] == own["clock_origin"]
        assert each["command"] == command
    # One counter numbers the operations of both.
    assert fork["sequence"] < failed["sequence"] < of_kind(parents, OperationKind.LAUNCH)["sequence"][1]


def test_the_end_of_the_process(record: Record) -> None:
    trace = record("ends")
    assert trace.complete
    assert kinds(trace)[-3:] == ["MAIN_END", "FREE", "PROCESS_EXIT"]
    late = the(trace, OperationKind.FREE)
    assert (late["flags"] & SlotFlag.OUTSIDE, late["status"]) == (SlotFlag.OUTSIDE, 4)
    assert the(trace, OperationKind.PROCESS_EXIT)["detail"] == ExitKind.NORMAL


def test_what_is_said_is_said_once_in_one_line(program: Path, tmp_path: Path) -> None:
    said = tmp_path / "a\\b\nsaid"
    escaped = str(said).replace("\\", "\\\\").replace("\n", "\\n")
    run(program, "core", "spoken", tmp_path / "F.sst", f"omissions={escaped}\nunknown=1\nnonsense\nmax_bytes=x\n")
    lost = "a call of cuLaunchKernel is not recorded, or not whole: the recorder failed in it"
    assert said.read_text() == f"first\nsecond line\n{lost}\n"
