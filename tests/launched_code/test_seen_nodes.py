"""What kernels of graphs touched, seen on the device, launch by launch: what of it the rules make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from launched_traces import SIZE, Recorded

from streamsan.analysis.checked import Checked
from streamsan.launched_code import seen_nodes
from streamsan.launched_code.seen_nodes import SlotsWithSeenNodes
from streamsan.trace import Reference, family
from streamsan.trace.rows import Rows
from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND
from streamsan.vocabulary import AccessMode, FreeClass, HandleKind, NodeKind, OperationKind, SeenAccesses, SlotFlag

READ, WRITE, OPAQUE = AccessMode.READ, AccessMode.WRITE, AccessMode.OPAQUE
HALF = SIZE // 2
ALL, SOME, LEARNED = SeenAccesses.ALL, SeenAccesses.SOME, SeenAccesses.LEARNED


class Graphs(Recorded):
    """A recording with graphs, in exact mode."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, accesses=True)

    def graph(
        self,
        handle: int,
        *nodes: Sequence[int],
        edges: Sequence[tuple[int, int]] = (),
        kind: OperationKind = OperationKind.GRAPH_INSTANTIATE,
        conditional: Sequence[int] = (),
    ) -> int:
        """An executable graph of kernel nodes, each given by the addresses that it gets."""
        made = self.say(kind, object=handle, address=0x99, size=len(nodes) + len(edges), api="cudaGraphInstantiate")
        for number, addresses in enumerate(nodes, 1):
            self.say(
                OperationKind.GRAPH_NODE,
                stream=handle,
                object=number,
                detail=NodeKind.KERNEL,
                label=f"kernel{number}",
                flags=SlotFlag.CONDITIONAL if number in conditional else 0,
                references=[Reference(address, 0, 0, OPAQUE) for address in addresses],
            )
        for before, after in edges:
            self.say(OperationKind.GRAPH_EDGE, stream=handle, object=before, address=after)
        return made

    def graph_launch(self, handle: int, stream: int) -> int:
        return self.say(OperationKind.GRAPH_LAUNCH, object=handle, stream=stream, api="cudaGraphLaunch")

    def saw(self, launch: int, node: int, *touched: Reference, detail: SeenAccesses = ALL) -> None:
        self.say(OperationKind.NODE_ACCESSES, object=launch, address=node, detail=detail, references=list(touched))

    def like(self, launch: int, other: int, detail: SeenAccesses = ALL) -> None:
        self.say(OperationKind.NODE_ACCESSES, object=launch, address=0, size=other, detail=detail)

    def wait(self) -> None:
        self.say(OperationKind.CONTEXT_SYNCHRONIZE, api="cudaDeviceSynchronize")

    def free(self, address: int) -> None:
        self.say(OperationKind.FREE, references=[Reference(address)], detail=FreeClass.DEVICE, api="cudaFree", status=0)

    def allocated(self, address: int) -> None:
        self.say(OperationKind.ALLOC, references=[Reference(address, SIZE)], label="d_new", api="cudaMalloc")


def bytes_at(address: int, begin: int, size: int, mode: AccessMode = WRITE) -> Reference:
    return Reference(address + begin, size, 0, mode)


def found(checked: Checked, *codes: str) -> list[str]:
    codes = codes or ("SS109", "SS102", "SS103", "SS303")
    return sorted(f"{each.code} {each.confidence.value}" for each in checked.findings if each.code in codes)


def side_by_side(folder: Path, *touched: tuple[int, int], detail: SeenAccesses = ALL) -> Checked:
    """Check a graph of two kernels that nothing orders: each writes bytes of one buffer."""
    made = Graphs(folder)
    stream, memory = made.stream(1), made.memory()
    made.graph(0x70, (memory,), (memory,))
    launch = made.graph_launch(0x70, stream)
    for number, (begin, size) in enumerate(touched, 1):
        made.saw(launch, number, bytes_at(memory, begin, size), detail=detail)
    made.wait()
    return made.check()


def test_two_nodes_of_one_graph(tmp_path: Path) -> None:
    assert found(side_by_side(tmp_path, (0, HALF), (HALF, HALF))) == []
    over = side_by_side(tmp_path, (0, HALF + 4), (HALF, HALF))
    assert found(over) == ["SS109 proven"]
    (finding,) = [each for each in over.findings if each.code == "SS109"]
    assert "seen on the device" in " ".join([finding.message, *(each.message for each in finding.related)])
    # Without what was seen it is not known how far they reach.
    assert found(side_by_side(tmp_path)) != ["SS109 proven"]


def test_where_not_all_was_seen_the_own_references_stay(tmp_path: Path) -> None:
    assert found(side_by_side(tmp_path, (0, HALF), (HALF, HALF), detail=SOME)) == found(side_by_side(tmp_path))


def test_graph_against_stream(tmp_path: Path) -> None:
    for begin, expected in (HALF, []), (HALF - 4, ["SS109 proven"]):
        made = Graphs(tmp_path)
        one, other, memory = made.stream(1), made.stream(2), made.memory()
        made.graph(0x70, (memory,))
        launch = made.graph_launch(0x70, one)
        kernel = made.launch(other, 0, memory)
        made.saw(launch, 1, bytes_at(memory, 0, HALF))
        seen = [bytes_at(memory, begin, 64)]
        made.say(OperationKind.LAUNCH_ACCESSES, object=kernel, detail=ALL, references=seen)
        made.wait()
        assert found(made.check()) == expected


@pytest.mark.parametrize("rows", [Rows(64, 256, 16), None])
def test_graph_against_graph(tmp_path: Path, rows: Rows | None) -> None:
    made = Graphs(tmp_path)
    one, other, memory = made.stream(1), made.stream(2), made.memory()
    made.graph(0x70, (memory,))
    made.graph(0x71, (memory,))
    first, second = made.graph_launch(0x70, one), made.graph_launch(0x71, other)
    for launch, begin in (first, 0), (second, 64):
        size = 0 if rows is None else rows.extent
        reference = bytes_at(memory, begin, 128) if rows is None else Reference(memory + begin, size, 0, WRITE, 0, rows)
        made.saw(launch, 1, reference)
    made.wait()
    assert found(made.check()) == (["SS109 proven"] if rows is None else [])


def test_each_launch_touches_what_was_seen_of_it(tmp_path: Path) -> None:
    """The graph takes turns between halves, by an index in device memory; a stream uses the other half each time."""
    for shift, expected in (0, []), (HALF, ["SS109 proven"]):
        made = Graphs(tmp_path)
        one, other, memory = made.stream(1), made.stream(2), made.memory()
        made.graph(0x70, (memory,))
        for turn in range(4):
            launch, kernel = made.graph_launch(0x70, one), made.launch(other, 0, memory)
            half = HALF * (turn % 2)
            made.wait()
            made.saw(launch, 1, bytes_at(memory, half, HALF))
            seen = [bytes_at(memory, HALF - half if turn < 3 or not shift else half, HALF, READ)]
            made.say(OperationKind.LAUNCH_ACCESSES, object=kernel, detail=ALL, references=seen)
        assert found(made.check()) == expected


def test_a_launch_that_is_like_another(tmp_path: Path) -> None:
    for detail in ALL, LEARNED:
        made = Graphs(tmp_path)
        one, other, memory = made.stream(1), made.stream(2), made.memory()
        made.graph(0x70, (memory,))
        first = made.graph_launch(0x70, one)
        made.wait()
        made.saw(first, 1, bytes_at(memory, 0, 64))
        second = made.graph_launch(0x70, one)
        kernel = made.launch(other, 0, memory)
        made.wait()
        made.like(second, first, detail)
        seen = [bytes_at(memory, 0, 64)]
        made.say(OperationKind.LAUNCH_ACCESSES, object=kernel, detail=ALL, references=seen)
        checked = made.check()
        assert found(checked) == ["SS109 proven"]
        said = next(each for each in checked.remarks if "graphs touch" in each)
        assert said.endswith("trusted to be the same for 1") == (detail == LEARNED)


def test_an_update_takes_what_was_seen_before_it(tmp_path: Path) -> None:
    made = Graphs(tmp_path)
    one, other, memory = made.stream(1), made.stream(2), made.memory()
    made.graph(0x70, (memory,))
    first = made.graph_launch(0x70, one)
    made.wait()
    made.saw(first, 1, bytes_at(memory, 0, 64))
    fields = {"object": 0x70, "address": 1, "detail": NodeKind.KERNEL, "label": "kernel1"}
    made.say(OperationKind.GRAPH_NODE_UPDATE, references=[Reference(memory, 0, 0, OPAQUE)], **fields)
    second = made.graph_launch(0x70, one)
    kernel = made.launch(other, 0, memory)
    made.wait()
    made.saw(second, 1, bytes_at(memory, 64, 64))
    made.say(OperationKind.LAUNCH_ACCESSES, object=kernel, detail=ALL, references=[bytes_at(memory, 0, 64)])
    assert found(made.check()) == []


def test_a_launch_that_was_not_seen_is_as_the_graph_says(tmp_path: Path) -> None:
    made = Graphs(tmp_path)
    one, other, memory = made.stream(1), made.stream(2), made.memory()
    made.graph(0x70, (memory,))
    first = made.graph_launch(0x70, one)
    made.wait()
    made.saw(first, 1, bytes_at(memory, 0, 64))
    made.graph_launch(0x70, one)
    made.launch(other, 0, memory, mode=WRITE)
    made.wait()
    checked = made.check()
    assert any(each.code == "SS109" for each in checked.findings)
    assert "what kernels of graphs touch was seen on the device for 1 of 2 launches of graphs" in checked.remarks


def test_pointers_found_in_memory(tmp_path: Path) -> None:
    """Memory that the graph's kernel finds by a table may come and go: that is no stale pointer of the graph."""
    made = Graphs(tmp_path)
    one, other = made.stream(1), made.stream(2)
    table, memory = made.memory("d_table"), made.memory()
    made.graph(0x70, (table,))
    launches = []
    for turn in range(3):
        launches.append(made.graph_launch(0x70, one))
        if turn == 2:
            kernel = made.launch(other, 0, memory)
        made.wait()
        made.saw(launches[-1], 1, bytes_at(table, 0, 8, READ), bytes_at(memory, 0, 64))
        if turn < 2:
            made.free(memory)
            made.allocated(memory)
    made.say(OperationKind.LAUNCH_ACCESSES, object=kernel, detail=ALL, references=[bytes_at(memory, 0, 64)])
    assert found(made.check()) == ["SS109 proven"]


def test_memory_that_the_graph_was_given_and_that_came_back_is_stale(tmp_path: Path) -> None:
    made = Graphs(tmp_path)
    stream, memory = made.stream(1), made.memory()
    made.graph(0x70, (memory,))
    first = made.graph_launch(0x70, stream)
    made.wait()
    made.saw(first, 1, bytes_at(memory, 0, 64))
    made.free(memory)
    made.allocated(memory)
    second = made.graph_launch(0x70, stream)
    made.wait()
    made.saw(second, 1, bytes_at(memory, 0, 64))
    assert [each.code for each in made.check().findings] == ["SS303"]


def test_a_free_while_the_graph_runs(tmp_path: Path) -> None:
    made = Graphs(tmp_path)
    stream, table, memory = made.stream(1), made.memory("d_table"), made.memory()
    made.graph(0x70, (table,))
    launch = made.graph_launch(0x70, stream)
    made.say(OperationKind.FREE, stream=made.stream(2), references=[Reference(memory)], detail=FreeClass.ASYNC,
             api="cudaFreeAsync")  # fmt: skip
    made.wait()
    made.saw(launch, 1, bytes_at(table, 0, 8, READ), bytes_at(memory, 0, 64))
    assert any(each.code in ("SS102", "SS103") for each in made.check().findings)


def test_a_conditional_node_that_was_seen_did_run(tmp_path: Path) -> None:
    made = Graphs(tmp_path)
    one, other, memory = made.stream(1), made.stream(2), made.memory()
    made.graph(0x70, (memory,), conditional=[1])
    launch, kernel = made.graph_launch(0x70, one), made.launch(other, 0, memory)
    made.wait()
    made.saw(launch, 1, bytes_at(memory, 0, 64))
    made.say(OperationKind.LAUNCH_ACCESSES, object=kernel, detail=ALL, references=[bytes_at(memory, 0, 64)])
    assert found(made.check()) == ["SS109 proven"]


def test_graphs_of_many_nodes(tmp_path: Path) -> None:
    """Each node writes a tile of its own; the last one writes into its neighbour's."""
    made = Graphs(tmp_path)
    stream, memory = made.stream(1), made.memory()
    count = 300
    made.graph(0x70, *[(memory,)] * count)
    launch = made.graph_launch(0x70, stream)
    for number in range(1, count + 1):
        made.saw(launch, number, bytes_at(memory, 64 * number, 65 if number == count - 1 else 64))
    made.wait()
    checked = made.check()
    assert found(checked) == ["SS109 proven"]


def test_a_handle_that_came_back(tmp_path: Path) -> None:
    made = Graphs(tmp_path)
    one, other, memory = made.stream(1), made.stream(2), made.memory()
    for begin in 0, 64:
        made.graph(0x70, (memory,))
        launch, kernel = made.graph_launch(0x70, one), made.launch(other, 0, memory)
        made.wait()
        made.saw(launch, 1, bytes_at(memory, begin, 64))
        made.say(OperationKind.LAUNCH_ACCESSES, object=kernel, detail=ALL, references=[bytes_at(memory, 128, 64)])
        made.say(OperationKind.HANDLE_DESTROY, object=0x70, detail=HandleKind.GRAPH_EXEC)
    assert found(made.check()) == []


def test_what_is_told_of_nothing_is_passed_over(tmp_path: Path) -> None:
    made = Graphs(tmp_path)
    stream, memory = made.stream(1), made.memory()
    made.graph(0x70, (memory,))
    launch = made.graph_launch(0x70, stream)
    made.saw(launch, 7, bytes_at(memory, 0, 64))
    made.saw(1 << 63, 1, bytes_at(memory, 0, 64))
    made.like(launch, 1 << 63)
    made.like(launch, launch)
    made.saw(launch, 1 << 40, bytes_at(memory, 0, 64))
    made.wait()
    checked = made.check()
    assert found(checked) == []
    assert not checked.problems


def test_slots_are_not_cut_and_have_no_numbers(tmp_path: Path) -> None:
    made = Graphs(tmp_path)
    stream, memory = made.stream(1), made.memory()
    made.graph(0x70, (memory,))
    launch = made.graph_launch(0x70, stream)
    made.saw(launch, 1, *(bytes_at(memory, 64 * each, 8) for each in range(100)))
    trace = family.read(made.write())
    chunks = list(SlotsWithSeenNodes(trace.slots, 1000, trace.threads).chunks(1, 0))
    assert all(int(chunk["kind"][0]) < FIRST_CONTINUATION_KIND for chunk in chunks)
    ahead = [slot for chunk in chunks for slot in chunk if slot["kind"] == OperationKind.NODE_ACCESSES]
    assert [(int(slot["stream"]), int(slot["more"])) for slot in ahead] == [(0x70, 50), (0x70, 50), (0, 50)]
    assert [int(slot["sequence"]) for slot in ahead[:2]] == [0, 0]


def ahead_of(made: Graphs) -> list[tuple[int, int]]:
    """Return what is brought before the operations of a recording: launch and node."""
    trace = family.read(made.write())
    found = []
    for chunk in SlotsWithSeenNodes(trace.slots, 1000, trace.threads).chunks(1000, 0):
        told = chunk[(chunk["kind"] == OperationKind.NODE_ACCESSES) & (chunk["stream"] != 0)]
        found += [(int(slot["object"]), int(slot["address"])) for slot in told]
    return found


def test_of_an_update_only_the_node_is_told_again(tmp_path: Path) -> None:
    made = Graphs(tmp_path)
    stream, memory = made.stream(1), made.memory()
    made.graph(0x70, *[(memory,)] * 5)
    first = made.graph_launch(0x70, stream)
    fields = {"object": 0x70, "address": 3, "detail": NodeKind.KERNEL, "label": "kernel3"}
    made.say(OperationKind.GRAPH_NODE_UPDATE, references=[Reference(memory, 0, 0, OPAQUE)], **fields)
    second = made.graph_launch(0x70, stream)
    made.wait()
    for launch in first, second:
        for number in range(1, 6):
            made.saw(launch, number, bytes_at(memory, 64 * number, 64))
    body = [(first, number) for number in range(1, 6)]
    assert ahead_of(made) == [*body, *body, (second, 3)]


def taking_turns(folder: Path, turns: int) -> tuple[Graphs, list[int]]:
    """Return a graph of many nodes that does one thing and another in turns, each told of once, and its launches."""
    made = Graphs(folder)
    stream, memory = made.stream(1), made.memory()
    nodes = 12
    made.graph(0x70, *[(memory,)] * nodes)
    launches = [made.graph_launch(0x70, stream) for _ in range(turns)]
    made.wait()
    for turn in range(2):
        for number in range(1, nodes + 1):
            made.saw(launches[turn], number, bytes_at(memory, 64 * number + 4 * turn, 4))
    for turn in range(2, turns):
        made.like(launches[turn], launches[turn % 2])
    return made, launches


def test_launches_that_are_like_others_are_compared_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, launches = taking_turns(tmp_path, 40)
    assert {launch for launch, _ in ahead_of(made)} == set(launches)
    monkeypatch.setattr(seen_nodes, "MOST_COMPARED", 0)
    # The first launch that is not taken as it was seen takes back what the one before it had.
    among = sorted({launch for launch, _ in ahead_of(made)})
    assert 2 < len(among) < 10
    assert among == launches[: len(among)]
    assert f"for {len(among) - 1} of 40 launches of graphs" in " ".join(made.check().remarks)
    assert not found(made.check(), "SS303")
