"""Words of a recorded launch that may be leftovers of the stack: no use for sure, so a note at most."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from order_program import OPAQUE, WRITE, Node
from recorded_program import Recording

from streamsan.findings.finding import Severity
from streamsan.rules.pipeline import findings_of
from streamsan.trace import Reference, Site
from streamsan.vocabulary import FreeClass, MemoryKind, NodeKind, SlotFlag
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
BUFFER, OTHER = 0x10000, 0x20000
GRAPH, EXEC = 40, 41
STRAY = SlotFlag.CONDITIONAL
SORTS = [STRAY, STRAY | SlotFlag.ASSUMED]


def program_with_streams(kind: MemoryKind = MemoryKind.STREAM_ORDERED) -> Recording:
    program = Recording(S, T, threads=1)
    program.alloc(BUFFER, kind, S if kind is MemoryKind.STREAM_ORDERED else 0)
    program.alloc(OTHER)
    return program


def launch(program: Recording, stream: int, address: int, flags: int) -> int:
    """A launch whose second argument is a large structure with an address in it."""
    program.line += 1
    program.builder.append(
        Kind.LAUNCH,
        thread=0,
        api="cuLaunchKernel",
        stream=stream,
        site=program.builder.site(Site("program", program.line)),
        references=[Reference(OTHER, 0, 0, OPAQUE, 0), Reference(address, 0, 0, OPAQUE, flags)],
    )
    return program.line


def severities(program: Recording) -> dict[str, Severity]:
    findings = findings_of(program.trace(), program.analysis().facts)
    return {f.code: f.severity for f in findings if f.code in ("SS101", "SS102", "SS103", "SS109", "SS303", "SS304")}


def freed_too_early(flags: int) -> Recording:
    program = program_with_streams()
    program.record(5, S)
    program.wait(T, 5)
    launch(program, T, BUFFER, flags)
    program.free(BUFFER, FreeClass.ASYNC, S)
    program.sync(T)
    return program


def used_after_free(flags: int) -> Recording:
    program = program_with_streams(MemoryKind.PLAIN)
    program.free(BUFFER)
    launch(program, S, BUFFER, flags)
    return program


def used_before_alloc(flags: int) -> Recording:
    program = program_with_streams()
    launch(program, T, BUFFER, flags)
    program.sync(T)
    program.free(BUFFER, FreeClass.ASYNC, S)
    return program


def baked_and_freed(flags: int) -> Recording:
    program = program_with_streams(MemoryKind.PLAIN)
    program.graph(EXEC, [Node(NodeKind.KERNEL, (Reference(BUFFER, 0, 0, OPAQUE, flags),))], graph=GRAPH)
    program.graph_launch(EXEC, S)
    program.sync(S)
    program.free(BUFFER)
    program.graph_launch(EXEC, S)
    return program


CASES = [
    (freed_too_early, "SS102"),
    (used_after_free, "SS101"),
    (used_before_alloc, "SS103"),
    (baked_and_freed, "SS303"),
]


@pytest.mark.parametrize(("make", "code"), CASES)
def test_an_argument_is_an_error(make: Callable[[int], Recording], code: str) -> None:
    assert severities(make(0)) == {code: Severity.ERROR}


@pytest.mark.parametrize("flags", SORTS)
@pytest.mark.parametrize(("make", "code"), CASES)
def test_a_word_that_may_be_a_leftover_is_a_note_at_most(
    make: Callable[[int], Recording], code: str, flags: int
) -> None:
    program = make(flags)
    assert severities(program) == {code: Severity.NOTE}
    said = [f.message for f in findings_of(program.trace(), program.analysis().facts) if f.code == code]
    assert all(message.endswith("(unless the address in its arguments is a leftover)") for message in said)


def test_a_leftover_does_not_hide_the_use_before_it() -> None:
    program = program_with_streams()
    program.record(5, S)
    program.wait(T, 5)
    program.launch(T, BUFFER)
    launch(program, T, BUFFER, STRAY)
    program.free(BUFFER, FreeClass.ASYNC, S)
    assert severities(program) == {"SS102": Severity.ERROR}


def test_a_leftover_does_not_hide_the_use_after_it() -> None:
    program = program_with_streams(MemoryKind.PLAIN)
    program.free(BUFFER)
    launch(program, S, BUFFER, STRAY)
    used = program.launch(S, BUFFER)
    assert (101, "AFTER_FREE", used) in program.found()
    assert severities(program) == {"SS101": Severity.ERROR}


def test_a_node_that_uses_freed_memory_for_sure_speaks_for_one_that_may() -> None:
    program = program_with_streams(MemoryKind.PLAIN)
    nodes = [Node(NodeKind.KERNEL, (Reference(BUFFER, 0, 0, OPAQUE, flags),)) for flags in (STRAY, 0)]
    program.graph(EXEC, nodes, graph=GRAPH)
    program.free(BUFFER)
    program.graph_launch(EXEC, S)
    assert severities(program) == {"SS303": Severity.ERROR}


def test_leftovers_conflict_with_nothing_for_sure() -> None:
    program = program_with_streams(MemoryKind.PLAIN)
    program.op(Kind.MEMSET, stream=S, memory=BUFFER, mode=WRITE, bytes=256)
    launch(program, T, BUFFER, STRAY)
    assert set(severities(program).values()) <= {Severity.NOTE}


def test_a_leftover_makes_no_wait_needed_or_needless() -> None:
    def waits(flags: int) -> list[tuple[int, str, int]]:
        program = program_with_streams(MemoryKind.PLAIN)
        launch(program, T, BUFFER, flags)
        program.sync(T)
        program.sync(T)
        return [found for found in program.found() if found[0] in (503, 504)]

    assert waits(STRAY) == waits(0)


def test_a_leftover_that_is_unordered_with_the_free_does_not_hide_a_later_use() -> None:
    program = program_with_streams()
    program.record(5, S)
    program.wait(T, 5)
    launch(program, T, BUFFER, STRAY)
    program.free(BUFFER, FreeClass.ASYNC, S)
    used = program.launch(S, BUFFER)
    assert (101, "AFTER_ASYNC_FREE", used) in program.found()
