"""Captures and graphs as the recorder writes them, by a fake driver: what is found in them, what their slots say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from recorded_scenarios import Scenarios, expected, line_of, loud, names
from recorded_scenarios import scenarios as compiled

from sanitized_programs import operations_of
from streamsan.trace import Trace, reader
from streamsan.trace.rows import Rows
from streamsan.trace.view import iterate
from streamsan.vocabulary import (
    AccessMode,
    CaptureMode,
    EdgeClass,
    FreeClass,
    GraphExecFlag,
    HandleKind,
    MemoryKind,
    NodeKind,
    OperationKind,
    SlotFlag,
)

KIND = OperationKind
JUDGED = [name for name in names() if name.endswith(("_wrong", "_right")) and name != "threads_right"]


pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> Scenarios:
    return compiled(tmp_path_factory, "address", "graphs")


@pytest.fixture(scope="module")
def threaded(tmp_path_factory: pytest.TempPathFactory) -> Scenarios:
    return compiled(tmp_path_factory, "thread", "graphs")


def of_kind(trace: Trace, kind: OperationKind) -> np.ndarray:
    slots = operations_of(trace)
    return np.asarray(slots[slots["kind"] == kind])


def references(trace: Trace, kind: OperationKind) -> list[list[tuple[int, int, int]]]:
    """Return address, size and mode byte of the references in the continuations of all operations of a kind."""
    found: list[list[tuple[int, int, int]]] = []
    ours = False
    for slot in np.concatenate(list(trace.chunks())):
        if slot["kind"] < KIND.REFERENCES:
            ours = slot["kind"] == kind
            if ours:
                found.append([])
        elif ours and slot["kind"] == KIND.REFERENCES:
            words = slot.tobytes()
            count = words[61]
            for position in range(count):
                address = int.from_bytes(words[16 * position : 16 * position + 8], "little")
                size = int.from_bytes(words[16 * position + 8 : 16 * position + 16], "little")
                found[-1].append((address, size, words[59 + position]))
    return found


def test_wrong_scenarios_expect_something_and_right_ones_nothing() -> None:
    assert len(JUDGED) > 20
    for name in JUDGED:
        assert bool(expected(name)) == name.endswith("_wrong"), name


@pytest.mark.parametrize("name", JUDGED)
def test_a_scenario_is_reported_at_its_lines(name: str, scenarios: Scenarios) -> None:
    checked = scenarios.check(name)
    assert loud(checked) == expected(name)
    assert [problem for problem in checked.problems if not problem.startswith("recorded: ")] == []


@pytest.mark.parametrize("name", ["body_without_a_default", "body_whose_default_is_0", "body_that_a_kernel_may_stop"])
def test_a_body_that_may_not_run_is_a_warning(name: str, scenarios: Scenarios) -> None:
    findings = [each for each in scenarios.check(name).findings if each.code == "SS303"]
    assert [(each.severity.value, each.confidence.value) for each in findings] == [("warning", "possible")]


def test_a_stale_pointer_is_told_with_its_node_and_its_release(scenarios: Scenarios) -> None:
    (finding,) = scenarios.check("stale_pointer_wrong").findings
    lines = {related.line for related in finding.related}
    start = line_of("SCENARIO(stale_pointer_wrong)")
    assert start + 6 in lines  # the release
    assert line_of("    launch(fill, stream, {address, 1});") in lines  # the launch that was captured


def test_a_body_has_every_node_with_what_it_uses(scenarios: Scenarios) -> None:
    path, printed = scenarios.record("all_nodes")
    trace = reader.read(path)
    p, q, event = (int(word, 16) for word in printed.split())
    (header,) = of_kind(trace, KIND.GRAPH_INSTANTIATE)
    nodes, edges = of_kind(trace, KIND.GRAPH_NODE), of_kind(trace, KIND.GRAPH_EDGE)
    (made,) = of_kind(trace, KIND.ALLOC)[2:]
    read, write, opaque = AccessMode.READ, AccessMode.WRITE, AccessMode.OPAQUE
    assert header["detail"] == GraphExecFlag.AUTO_FREE | GraphExecFlag.UPLOAD | GraphExecFlag.DEVICE
    assert header["size"] == len(nodes) + len(edges)
    assert set(nodes["stream"]) == set(edges["stream"]) == {header["object"]}
    assert list(nodes["object"]) == list(range(1, len(nodes) + 1))
    assert np.all(edges["object"] < edges["address"])
    assert [NodeKind(kind) for kind in nodes["detail"]] == [
        NodeKind.KERNEL,
        NodeKind.COPY,
        NodeKind.EMPTY,  # the child, then what it holds and what is after all of it
        NodeKind.KERNEL,
        NodeKind.MEMSET,
        NodeKind.MEMSET,
        NodeKind.EMPTY,
        NodeKind.EMPTY,  # the conditional node, its body, what is after both
        NodeKind.KERNEL,
        NodeKind.EMPTY,
        NodeKind.EVENT_WAIT,
        NodeKind.HOST,
        NodeKind.OPAQUE,
        NodeKind.STREAM_MEMORY_OP,
        NodeKind.EVENT_RECORD,
        NodeKind.ALLOC,
        NodeKind.FREE,
    ]
    assert references(trace, KIND.GRAPH_NODE) == [
        [(p + 64, 0, opaque), (q, 0, read)],
        [(q, 4096, write), (p, 4096, read)],
        [],
        [(p, 0, opaque), (q, 0, read)],
        [(p, 356, write | SlotFlag.STRIDED)],
        [(q, 100, write)],
        [],
        [],
        [(p, 0, opaque)],
        [],
        [],
        [(q, 0, opaque)],
        [],
        [(p, 0, read), (q, 0, write)],
        [],
        [(made["address"], made["size"], write)],
        [(made["address"], 0, write)],
    ]
    kept = [each.rows for view in iterate(trace) if view.kind == KIND.GRAPH_NODE for each in view.references]
    assert [rows for rows in kept if rows] == [Rows(100, 128, 3)]
    assert [int(flags) for flags in nodes["flags"]] == [
        SlotFlag.CONDITIONAL if index == 8 else 0 for index in range(17)
    ]
    assert {int(node["address"]) for node in nodes if node["address"]} == {event}
    pairs = set(zip(edges["object"].tolist(), edges["address"].tolist(), strict=True))
    chain = {(10, 11), (11, 12), (12, 13), (13, 14), (14, 15), (15, 16), (16, 17), (1, 17), (1, 2)}
    assert pairs == chain | {(2, 3), (3, 4), (4, 5), (4, 6), (5, 7), (6, 7), (7, 8), (8, 9), (8, 10), (9, 10)}


def test_nodes_have_the_places_where_they_were_made(scenarios: Scenarios) -> None:
    trace = scenarios.trace("all_nodes")
    nodes = of_kind(trace, KIND.GRAPH_NODE)
    lines = [trace.site(int(site)).line for site in nodes["site"]]
    assert lines[0] == line_of("const Word kernel = add_kernel(graph, {}, scale, {p + 64, q});")
    assert lines[3] == line_of("const Word inner = add_kernel(child, {}, scale, {p, q});")
    assert lines[8] == line_of("add_kernel(bodies[0], {}, fill, {p, 1});")
    labels = [trace.site(int(node["site"])).label for node in nodes if node["detail"] == NodeKind.KERNEL]
    assert labels == ["scale", "scale", "fill"]
    assert [trace.apis[api] for api in nodes["api"][:2]] == ["cuGraphAddKernelNode", "cuGraphAddMemcpyNode"]


def test_a_clone_keeps_places_and_is_another_graph(scenarios: Scenarios) -> None:
    trace = scenarios.trace("clone_keeps_places")
    (node,) = of_kind(trace, KIND.GRAPH_NODE)
    line = line_of("SCENARIO(clone_keeps_places)") + 3
    assert (trace.site(int(node["site"])).line, trace.site(int(node["site"])).label) == (line, "fill")
    (clone,) = of_kind(trace, KIND.GRAPH_CLONE)
    created = of_kind(trace, KIND.HANDLE_CREATE)
    assert clone["object"] in created["object"]
    assert clone["address"] in created["object"]


def test_a_capture_begins_ends_and_leaves_nothing_else(scenarios: Scenarios) -> None:
    trace = scenarios.trace("joined_right")
    kinds = Counter(OperationKind(kind) for kind in operations_of(trace)["kind"])
    assert KIND.LAUNCH not in kinds
    assert KIND.EVENT_RECORD not in kinds
    assert KIND.STREAM_WAIT_EVENT not in kinds
    (begin,), (end,) = of_kind(trace, KIND.CAPTURE_BEGIN), of_kind(trace, KIND.CAPTURE_END)
    assert begin["object"] == end["object"] != 0
    assert begin["stream"] == end["stream"]
    assert (begin["detail"], begin["status"], end["status"]) == (CaptureMode.GLOBAL, 0, 0)
    (header,) = of_kind(trace, KIND.GRAPH_INSTANTIATE)
    assert header["address"] == end["address"]
    edges = of_kind(trace, KIND.GRAPH_EDGE)
    assert set(zip(edges["object"].tolist(), edges["address"].tolist(), strict=True)) >= {(1, 2), (2, 3)}


def test_ends_of_captures_have_the_capture_that_they_end(scenarios: Scenarios) -> None:
    trace = scenarios.trace("ends_of_captures")
    begins, ends = of_kind(trace, KIND.CAPTURE_BEGIN), of_kind(trace, KIND.CAPTURE_END)
    assert list(begins["status"]) == [900, 0, 401, 0, 0]
    assert list(ends["status"]) == [903, 901, 401]
    assert list(ends["object"]) == [begins[1]["object"], begins[1]["object"], 0]
    assert ends[0]["stream"] == begins[1]["stream"]
    assert len(set(begins["object"][begins["status"] == 0].tolist())) == 3


def test_a_capture_into_a_graph_makes_no_other_graph(scenarios: Scenarios) -> None:
    trace = scenarios.trace("capture_into_a_graph")
    created = of_kind(trace, KIND.HANDLE_CREATE)
    assert list(created["detail"]) == [HandleKind.GRAPH]
    (begin,), (end,) = of_kind(trace, KIND.CAPTURE_BEGIN), of_kind(trace, KIND.CAPTURE_END)
    assert begin["detail"] == CaptureMode.RELAXED
    assert end["address"] == created[0]["object"]


def test_failures_in_a_capture_keep_their_kind(scenarios: Scenarios) -> None:
    trace = scenarios.trace("wait_in_capture_wrong")
    slots = operations_of(trace)
    failed = slots[slots["status"] > 0]
    assert [(OperationKind(slot["kind"]), int(slot["status"])) for slot in failed] == [
        (KIND.STREAM_SYNCHRONIZE, 900),
        (KIND.LAUNCH, 901),
        (KIND.CAPTURE_END, 901),
    ]
    assert of_kind(trace, KIND.LAUNCH)["status"].tolist() == [901, 0]


def test_memory_nodes_are_announced(scenarios: Scenarios) -> None:
    trace = scenarios.trace("restrictions_wrong")
    allocs, frees = of_kind(trace, KIND.ALLOC), of_kind(trace, KIND.FREE)
    assert [MemoryKind(kind) for kind in allocs["detail"]] == [MemoryKind.PLAIN, MemoryKind.GRAPH]
    assert [(FreeClass(free["detail"]), int(free["status"])) for free in frees] == [
        (FreeClass.GRAPH_NODE, 1),
        (FreeClass.GRAPH_NODE, 0),
        (FreeClass.DEVICE, 0),
    ]
    assert frees[1]["address"] == allocs[1]["address"]


def test_what_is_refused_for_another_reason_is_a_call(scenarios: Scenarios) -> None:
    checked = scenarios.check("refused_for_conditional_nodes")
    assert not any(finding.code == "SS306" for finding in checked.findings)
    slots = operations_of(scenarios.trace("refused_for_conditional_nodes"))
    assert [OperationKind(kind) for kind in slots["kind"][slots["status"] == 801]] == [KIND.CALL, KIND.CALL]


def test_a_graph_that_cannot_be_read_is_said_and_accuses_nobody(scenarios: Scenarios) -> None:
    checked = scenarios.check("unreadable")
    assert loud(checked) == set()
    assert [finding.code for finding in checked.findings].count("SS603") == 1
    trace = scenarios.trace("unreadable")
    (node,) = of_kind(trace, KIND.GRAPH_NODE)
    assert node["detail"] == NodeKind.OPAQUE
    assert len(of_kind(trace, KIND.OPAQUE_CALL)) == 1


def test_large_graphs(scenarios: Scenarios) -> None:
    trace = scenarios.trace("many_nodes")
    assert len(of_kind(trace, KIND.GRAPH_NODE)) == 100_000
    assert len(of_kind(trace, KIND.GRAPH_EDGE)) == 99_999


def test_a_new_file_knows_the_graphs_that_are_alive(scenarios: Scenarios) -> None:
    checked = scenarios.check("rotation", "max_bytes=3000000")
    assert any("the recording begins at operation" in problem for problem in checked.problems)
    assert loud(checked) == expected("rotation")


def test_a_host_function_tells_when_it_runs(scenarios: Scenarios) -> None:
    trace = scenarios.trace("told_by_host_function_right")
    (function,), (acquire,) = of_kind(trace, KIND.HOST_FUNCTION), of_kind(trace, KIND.HOST_ACQUIRE)
    assert function["object"] == acquire["object"] != 0
    assert acquire["detail"] == EdgeClass.CONTRACT
    assert acquire["thread"] != function["thread"]
    assert acquire["sequence"] > function["sequence"]


def test_host_functions_beside_a_capture_are_left_alone(scenarios: Scenarios) -> None:
    trace = scenarios.trace("host_function_in_a_capture")
    (function,) = of_kind(trace, KIND.HOST_FUNCTION)
    assert function["object"] == 0
    assert len(of_kind(trace, KIND.HOST_ACQUIRE)) == 0
    assert [NodeKind(kind) for kind in of_kind(trace, KIND.GRAPH_NODE)["detail"]] == [NodeKind.HOST]


@pytest.mark.parametrize("name", ["threads_right", "told_by_host_function_right"])
def test_threads(name: str, threaded: Scenarios) -> None:
    checked = threaded.check(name)
    assert loud(checked) == set()
    path: Path = threaded.folder / f"{name}.sst"
    assert path.exists()
