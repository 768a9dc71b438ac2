"""Scenes of small traces: what is drawn of a finding, which orders the engine confirms, and which one is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from order_program import READ, Program

from streamsan.analysis.inputs import analyse_path
from streamsan.analysis.traces import check_trace
from streamsan.evidence.proofs import Proofs
from streamsan.findings.move import Act
from streamsan.findings.scene import Scene, Strength
from streamsan.timeline.scene_window import MOST_DRAWN
from streamsan.timeline.scenes import MOST_SCENES
from streamsan.trace import Trace
from streamsan.vocabulary import FreeClass, MemoryKind
from streamsan.vocabulary import OperationKind as Kind

ASYNC, STREAM_ORDERED = FreeClass.ASYNC, MemoryKind.STREAM_ORDERED


def scene_of(trace: Trace, code: str) -> Scene:
    checked = check_trace(trace, "program", proofs=Proofs(drawn=True))
    (finding,) = (each for each in checked.findings if each.code == code)
    assert finding.scene is not None
    return finding.scene


def edges(scene: Scene) -> set[tuple[int, int, Strength]]:
    """The edges by the lines of their operations."""
    lines = [operation.line for operation in scene.operations]
    return {(lines[edge.source], lines[edge.target], edge.strength) for edge in scene.edges}


def used_and_freed() -> tuple[Program, dict[str, int]]:
    program = Program(10, 11)
    lines = {"alloc": program.alloc(0x1000, STREAM_ORDERED, 10)}
    lines["record"] = program.record(30, 10)
    lines["wait"] = program.wait(11, 30)
    lines["use"] = program.launch(11, 0x1000, mode=READ)
    lines["free"] = program.free(0x1000, ASYNC, 10)
    return program, lines


def test_a_race_has_the_missing_edge_from_the_use_to_the_free() -> None:
    program, lines = used_and_freed()
    scene = scene_of(program.trace(), "SS102")
    assert edges(scene) == {
        (lines["record"], lines["wait"], Strength.PROMISED),
        (lines["use"], lines["free"], Strength.MISSING),
    }
    roles = {operation.line: (operation.role, operation.access) for operation in scene.operations}
    assert roles[lines["use"]] == ("use", "reads")
    assert roles[lines["free"]][0] == "reported"
    assert [lane.name for lane in scene.lanes] == ["host thread `thread`", "stream 1", "stream 2"]
    (bar,) = scene.bars
    ends = [scene.operations[each].line for each in (bar.begin, *bar.uses, bar.end)]
    assert (bar.own, ends) == (True, [lines["alloc"], lines["use"], lines["free"]])


def test_the_witness_names_operations_of_the_scene() -> None:
    program, lines = used_and_freed()
    scene = scene_of(program.trace(), "SS102")
    line_of = {operation.number: operation.line for operation in scene.operations}
    assert [(move.act, line_of.get(move.sequence)) for move in scene.moves] == [
        (Act.ISSUED, lines["use"]),
        (Act.DONE, lines["free"]),
        (Act.OUTCOME, None),
        (Act.DONE, lines["use"]),
    ]


def test_a_use_after_the_free_is_drawn_as_the_wrong_order() -> None:
    program = Program(10)
    program.alloc(0x1000)
    free = program.free(0x1000)
    use = program.launch(10, 0x1000)
    assert (free, use, Strength.WRONG) in edges(scene_of(program.trace(), "SS101"))


def test_an_order_that_no_slot_tells_is_drawn_where_the_engine_knows_it() -> None:
    program = Program(11)
    program.stream(10, kind=1)  # a blocking stream
    before = program.alloc(0x1000, STREAM_ORDERED, 10)
    legacy = program.launch(1, 0x1000)
    program.launch(11, 0x1000)
    program.free(0x1000, ASYNC, 1)
    scene = scene_of(program.trace(), "SS102")
    (edge,) = (each for each in scene.edges if scene.operations[each.source].line == before)
    assert scene.operations[edge.target].line == legacy
    assert edge.reason == "by the rules of the default stream"


def test_a_wait_that_comes_too_early_is_no_edge() -> None:
    program = Program(10, 11)
    program.alloc(0x1000, STREAM_ORDERED, 10)
    program.op(Kind.EVENT_CREATE, object=30)
    program.record(31, 10)
    program.wait(11, 31)
    early = program.wait(10, 30)
    use = program.launch(11, 0x1000)
    program.record(30, 11)
    free = program.free(0x1000, ASYNC, 10)
    found = edges(scene_of(program.trace(), "SS102"))
    assert (use, free, Strength.MISSING) in found
    assert not any(target == early for _, target, _ in found)


def test_a_scene_of_a_long_trace_is_small_and_counts_what_it_leaves_out() -> None:
    program, _ = Program(10, 11), None
    program.alloc(0x1000, STREAM_ORDERED, 10)
    program.record(30, 10)
    program.wait(11, 30)
    use = program.launch(11, 0x1000)
    for _ in range(2000):
        program.launch(10, 0)
    free = program.free(0x1000, ASYNC, 10)
    scene = scene_of(program.trace(), "SS102")
    assert len(scene.operations) <= MOST_DRAWN
    assert {use, free} <= {operation.line for operation in scene.operations}
    assert any(operation.left_out > 1900 for operation in scene.operations)


LITMUS = Path(__file__).resolve().parents[1] / "litmus"
SOME = (
    "ss102_fan_out_one_event.wrong.cu",
    "ss102_worker_thread.wrong.cu",
    "ss103_missing_event.wrong.cu",
    "ss108_ring_overwritten.wrong.cu",
    "ss109_events_reused.wrong.cu",
)


def reached(scene: Scene, source: int) -> set[int]:
    """What comes after an operation, by the order of lanes, of calls, and the arrows that are drawn."""
    after: dict[int, set[int]] = {number: set() for number in range(len(scene.operations))}
    for number, first in enumerate(scene.operations):
        for later, second in enumerate(scene.operations[number + 1 :], number + 1):
            if first.lane in (second.lane, second.issuer):
                after[number].add(later)
    for edge in scene.edges:
        if edge.strength is Strength.PROMISED:
            after[edge.source].add(edge.target)
    found, waiting = {source}, [source]
    while waiting:
        new = after[waiting.pop()] - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize("name", SOME)
def test_no_way_through_the_picture_orders_what_it_says_nothing_orders(name: str) -> None:
    checked = analyse_path(LITMUS / name, proofs=Proofs(drawn=True, fixes=False))
    scenes = [finding.scene for finding in checked.findings if finding.scene is not None]
    missing = [(scene, edge) for scene in scenes for edge in scene.edges if edge.strength is Strength.MISSING]
    assert missing
    assert all(edge.target not in reached(scene, edge.source) for scene, edge in missing)


def test_a_right_program_has_a_timeline_and_no_scene() -> None:
    program = Program(10)
    program.alloc(0x1000)
    program.launch(10, 0x1000)
    program.sync(10)
    program.free(0x1000)
    checked = check_trace(program.trace(), "program", proofs=Proofs(drawn=True))
    assert [finding.scene for finding in checked.findings] == []
    assert [timeline.title for timeline in checked.timelines] == ["program"]


def test_nothing_is_drawn_that_nobody_asked_for() -> None:
    program, _ = used_and_freed()
    checked = check_trace(program.trace(), "program")
    assert not checked.timelines
    assert all(finding.scene is None for finding in checked.findings)


def test_of_too_many_findings_the_gravest_are_drawn_and_the_others_say_so() -> None:
    program = Program(10, 11)
    program.alloc(0x900, STREAM_ORDERED, 10)
    program.sync(10)
    program.free(0x900, FreeClass.DEVICE)  # a note, and the first in the report
    for number in range(MOST_SCENES):
        address = 0x1000 * (number + 1)
        program.alloc(address, STREAM_ORDERED, 10)
        program.sync(10)
        program.launch(11, address, mode=READ)
        program.free(address, ASYNC, 10)
    first, *races = check_trace(program.trace(), "program", proofs=Proofs(drawn=True)).findings
    assert (first.code, first.scene) == ("SS206", None)
    assert first.no_scene == f"only the {MOST_SCENES} gravest findings of a run have a picture"
    assert [each.code for each in races] == ["SS102"] * MOST_SCENES
    assert all(each.scene is not None and not each.no_scene for each in races)
