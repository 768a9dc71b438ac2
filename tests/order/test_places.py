"""Facts of one place, whichever calls led there."""

from __future__ import annotations

from msgspec.structs import replace
from order_program import PRIMARY, Program

from streamsan.order.consumers import unconsumed_waits
from streamsan.order.engine import analyse
from streamsan.order.facts import Fact, Operation
from streamsan.order.places import MOST_EXAMPLES, by_place
from streamsan.trace import Reference, Site, Trace, TraceBuilder
from streamsan.trace.modules import UNKNOWN_MODULE, Module
from streamsan.trace.stacks import Stacks
from streamsan.trace.trace import RECORDING
from streamsan.vocabulary import (
    AccessMode,
    ContextKind,
    ExitKind,
    FactVariant,
    FreeClass,
    MemoryKind,
    RuleCode,
    SlotFlag,
)
from streamsan.vocabulary import OperationKind as Kind

S, T, P = 10, 11, 0x10000
HELPER = 5
"""line of the wait in the helper"""


class Nested(Program):
    """Waits through a helper: one place, another site for each call."""

    def through_helper(self, kind: Kind, label: str = "", api: str = "call", **fields: object) -> None:
        self.line += 1
        caller = self.builder.site(Site("program", 100 + self.line))
        site = self.builder.site(Site("program", HELPER, 3, label=label, caller=caller))
        memory = [Reference(P, 0, 0, AccessMode.OPAQUE)] if kind is Kind.FREE else []
        self.builder.append(kind, thread=0, api=api, site=site, references=memory, **fields)  # type: ignore[arg-type]

    def wait_in_helper(self, stream: int) -> None:
        self.through_helper(Kind.STREAM_SYNCHRONIZE, stream=stream)


def redundant(trace: Trace) -> list[tuple[int, str, int]]:
    """Line, variant and number of instances of each redundant wait."""
    analysis = analyse(trace)
    facts = [fact for fact in analysis.facts if fact.code == 504]
    facts += unconsumed_waits(trace, analysis)
    return [(trace.site(fact.operation.site).line, fact.variant.name, fact.count) for fact in facts]


def test_a_needed_call_of_the_helper_keeps_its_wait() -> None:
    program = Nested()
    program.stream(S)
    program.alloc(P)
    program.launch(S, P)
    program.wait_in_helper(S)
    program.free(P)
    program.wait_in_helper(S)
    program.exit()
    assert redundant(program.trace()) == []


def test_a_helper_whose_every_wait_is_dominated_counts_them_all() -> None:
    program = Nested()
    program.stream(S)
    program.launch(S)
    program.sync_all()
    program.wait_in_helper(S)
    program.wait_in_helper(S)
    program.exit()
    assert redundant(program.trace())[0] == (HELPER, "DOMINATED", 2)


def test_a_helper_whose_waits_nothing_needs_is_one_fact() -> None:
    program = Nested()
    program.stream(S)
    program.alloc(P, MemoryKind.STREAM_ORDERED, S)
    program.wait_in_helper(S)
    program.launch(S, P)
    program.wait_in_helper(S)
    program.wait_in_helper(S)
    program.free(P, FreeClass.ASYNC, S)
    program.sync_all()
    program.exit()
    assert redundant(program.trace()) == [(HELPER, "NO_CONSUMER", 3)]


def test_of_two_waits_for_the_same_work_one_stays() -> None:
    program = Program(S)
    program.alloc(P)
    program.launch(S, P)
    first = program.sync(S)
    program.launch(T)
    program.sync_all()
    program.free(P)
    program.exit()
    assert [line for line, _, _ in redundant(program.trace())] == [first]
    program = Program(S)
    program.alloc(P)
    program.launch(S, P)
    program.sync(S)
    second = program.sync(S)
    program.free(P)
    program.exit()
    assert [line for line, _, _ in redundant(program.trace())] == [second]


def deep(depth: int) -> Trace:
    """A function that calls itself and frees twice, `depth` deep."""
    builder = TraceBuilder("program")
    builder.thread(0, "main")
    builder.append(Kind.MAIN_BEGIN, thread=0)
    builder.append(Kind.CONTEXT_CREATE, thread=0, object=PRIMARY, detail=ContextKind.PRIMARY)
    builder.append(Kind.CONTEXT_CURRENT, thread=0, object=PRIMARY)
    caller = builder.site(Site("program", 90))
    for level in range(depth):
        address = P + level * 0x1000
        sites = [builder.site(Site("program", line, 5, caller=caller)) for line in (3, 4, 5)]
        builder.append(
            Kind.ALLOC, thread=0, api="a", site=sites[0], references=[Reference(address, 64)], detail=MemoryKind.PLAIN
        )
        for site in sites[1:]:
            builder.append(
                Kind.FREE, thread=0, api="f", site=site, references=[Reference(address, 0)], detail=FreeClass.DEVICE
            )
        caller = builder.site(Site("program", 6, 5, caller=caller))
    builder.append(Kind.MAIN_END, thread=0)
    builder.append(Kind.PROCESS_EXIT, thread=0, detail=ExitKind.NORMAL)
    return builder.finish()


def test_a_mistake_in_a_recursive_function_is_one_mistake() -> None:
    facts = [fact for fact in analyse(deep(500)).facts if fact.code == 201]
    assert len(facts) == MOST_EXAMPLES
    assert facts[0].count == 500


def test_other_labels_and_other_places_are_other_facts() -> None:
    program = Nested()
    for reason in ("one", "two", "one"):
        program.through_helper(Kind.NOT_UNDERSTOOD, label=reason)
    program.op(Kind.NOT_UNDERSTOOD)
    facts = [fact for fact in analyse(program.trace()).facts if fact.code == 603]
    assert len(facts) == 4
    assert sorted(fact.count for fact in facts) == [1, 1, 1, 2]


def test_the_most_certain_of_a_place_speaks_and_counts_all() -> None:
    builder = TraceBuilder("program")
    sites = [builder.site(Site("program", 7, 1, caller=caller)) for caller in (0, 1, 2)]

    def fact(number: int, assumed: bool) -> Fact:
        operation = Operation(number + 1, Kind.FREE, sites[number], 0, 0, 0, 0, 0)
        return Fact(201, FactVariant.SAME_POINTER, operation, assumed=assumed, cost_ns=5)

    kept = by_place(builder.finish(), [fact(0, True), fact(1, False), fact(2, True)], [])
    certain = next(one for one in kept if not one.assumed)
    assert (certain.count, certain.cost_ns) == (3, 15)
    unknown = [replace(one, operation=replace(one.operation, site=0)) for one in kept]
    assert by_place(builder.finish(), unknown, []) != []


def test_a_needed_wait_of_another_api_is_another_wait() -> None:
    program = Nested()
    program.stream(S)
    program.launch(S)
    program.through_helper(Kind.STREAM_SYNCHRONIZE, api="one", stream=S)
    program.through_helper(Kind.STREAM_SYNCHRONIZE, api="other", stream=S)
    assert [fact.operation.sequence for fact in program.facts(504)] == [program.line]


def test_what_a_library_does_by_itself_at_exit_is_one_fact() -> None:
    """Whichever of its places: nothing of the program led there."""

    def fact(site: int, sequence: int) -> Fact:
        call = Operation(sequence, Kind.FREE, site, api=1, thread=0, process=0, stream=0, flags=int(SlotFlag.OUTSIDE))
        return Fact(RuleCode.CALL_OUTSIDE_MAIN, FactVariant.AFTER_MAIN, call)

    library, own = Module("/opt/env/lib/python3.12/site-packages/cupy/memory.so", ""), Module("/own/app", "")
    builder = TraceBuilder("program", origin=RECORDING)
    for module, offset in ((1, 64), (1, 80), (1, 96), (2, 64), (2, 80)):
        builder.site(Site("", 0, module=module, offset=offset))
    trace = builder.finish()
    trace.stacks = Stacks(trace.sites, [UNKNOWN_MODULE, library, own], {})
    found = by_place(trace, [fact(site, site) for site in range(1, 6)], ())
    assert [(each.operation.site, each.count) for each in found] == [(1, 3), (4, 1), (5, 1)]
