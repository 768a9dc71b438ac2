"""Runs the native order engine over a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from streamsan.order._engine import Engine
from streamsan.order.analysed_trace import AnalysedTrace
from streamsan.order.facts import AllocationFact, Fact, Operation, Touch, operation_kind
from streamsan.order.places import by_place
from streamsan.order.thresholds import uncounted, without_kept_pools, worth_saying
from streamsan.patterns.late_pattern import late_pattern
from streamsan.trace.rows import Rows
from streamsan.trace.trace import RECORDING, Thread
from streamsan.vocabulary import EdgeClass, FactVariant, MemoryKind, RelatedRole, RuleCode, StreamKind

if TYPE_CHECKING:
    from streamsan.order._engine import _Allocation, _Fact, _Operation, _Touch
    from streamsan.trace.packed_slots import Packed

ASKING = (
    "cudaGetLastError",
    "cudaPeekAtLastError",
    "cudaGetErrorString",
    "cudaGetErrorName",
    "cuGetErrorString",
    "cuGetErrorName",
)
"""Calls by which a program shows that it looks at errors; with what a version adds behind the name."""
API_NAME = late_pattern("cu(da)?[A-Z]")
CALLED_FOR_AN_ANSWER = late_pattern(
    "Query|Get|CanAccess|Can[A-Z]|Is[A-Z]|Peek|Choose|Check|Supported|Destroy|Unload|Release|Free"
)
"""In the names of calls whose failure is an answer, or that undo something."""
"""the origin of a trace of a program that ran on a real device"""
BEGINS_AT = "begins_at"
"""metadata of a recording whose older part is lost: number of its first operation that does not restate another"""
TRIED = late_pattern("Load|Link|Library|Module|Register")
"""In the names of calls that libraries make to see whether they succeed, as a recording shows them."""
MOST_APIS = 65536
"""An API's number has 16 bits."""


class Requirement(NamedTuple):
    """A required order that no promised edge gives. Only whether two analyses differ in them matters."""

    sort: int
    earlier: int
    """sequence number of the operation that should come first"""
    later: int


class Analysis(Struct, frozen=True):
    """What the engine found in one trace."""

    facts: list[Fact]
    """in the order of the sequence numbers of the reported operations"""
    operations: int
    """slots that are not continuations"""
    problems: int
    """slots that could not be what they say and were left out"""
    needed_waits: frozenset[tuple[int, int]] = frozenset()
    """site and API of each wait that brought something at least once"""
    inside: tuple[Operation, ...] = ()
    """of a recording: calls that were entered and that nothing of their thread followed, where the process did not end
    normally"""
    launches: bool = False
    """whether a kernel or a graph was launched"""
    blocks: bool = False
    """whether a pool told of a block that it hands out"""
    used_host_memory: bool = False
    """whether work for which the host did not wait used memory that the host can access"""


def _operation(values: _Operation) -> Operation:
    sequence, kind, site, api, thread, process, *_ = values
    stream, flags, status, stream_site, stream_kind, assumed, number = values[6:]
    return Operation(
        sequence=sequence,
        kind=operation_kind(kind),
        site=site,
        api=api,
        thread=thread,
        process=process,
        stream=stream,
        flags=flags,
        status=status,
        stream_site=stream_site,
        stream_kind=StreamKind(stream_kind) if stream_kind else None,
        stream_assumed=assumed,
        stream_number=number,
    )


def _allocation(values: _Allocation | None) -> AllocationFact | None:
    if values is None:
        return None
    address, size, generation, kind, assumed, site = values
    return AllocationFact(address, size, generation, MemoryKind(kind), assumed, site)


def _touch(values: _Touch | None) -> Touch | None:
    if values is None:
        return None
    begin, end, rows, bounds, surely, atomic, node = values
    some = Rows(*rows) if rows[2] else None
    within = bounds if bounds[1] else None
    return Touch(begin, end, some, within, surely, atomic, None if node is None else _operation(node))


def _fact(values: _Fact) -> Fact:
    code, variant, operation, related, allocation = values[:5]
    rests_on, assumed, may_be_equal, unseen, likely, polled, count, cost, later, earlier = values[5:]
    return Fact(
        code=RuleCode(code),
        variant=FactVariant(variant),
        operation=_operation(operation),
        related=tuple((RelatedRole(role), _operation(other)) for role, other in related if other[1] != 0),
        allocation=_allocation(allocation),
        rests_on=EdgeClass(rests_on),
        assumed=assumed,
        may_be_equal=may_be_equal,
        unseen=unseen,
        likely=likely,
        polled=polled,
        count=count,
        cost_ns=cost,
        touches=(_touch(later), _touch(earlier)),
    )


def _explained(fact: Fact, words: Mapping[tuple[int, int, int], bytes]) -> Fact:
    call = fact.operation
    text = words.get((call.site, call.api, call.status))
    return fact if text is None else replace(fact, explained=" ".join(text.decode(errors="replace").split()))


def asking_apis(apis: Sequence[str]) -> list[int]:
    """Return the numbers of the APIs by which a program asks for the error of earlier calls."""
    return [number for number, name in enumerate(apis[:MOST_APIS]) if name.startswith(ASKING)]


def setting_apis(apis: Sequence[str], recording: bool = False) -> list[int]:
    """Return the numbers of the APIs that are called for what they do: a program that goes on misses it.

    Source shows the program's own calls only, a `recording` those that libraries make as well.
    """
    return [
        number
        for number, name in enumerate(apis[:MOST_APIS])
        if API_NAME.match(name) and not CALLED_FOR_AN_ANSWER.search(name) and not (recording and TRIED.search(name))
    ]


def run(
    threads: Iterable[Thread],
    packed: Iterable[Packed],
    *,
    apis: Sequence[str] = (),
    recording: bool = False,
    begins_at: int = 0,
    judged_from: int = 0,
) -> Analysis:
    """Analyse slots that come in parts; memory does not grow with their number. The facts are aggregated by sites.

    `apis` are the names of the trace's APIs, to see by which calls a program asks for errors. In a `recording` the
    order of the numbers is that in which the calls of the threads came, and operations numbered less than `begins_at`
    restate what was there before. Facts only about operations numbered less than `judged_from` are left out.
    """
    processes = [thread.process for thread in threads]
    engine = Engine(processes, False, asking_apis(apis), setting_apis(apis, recording), recording, begins_at)
    engine.judge_from(judged_from)
    _feed(engine, packed)
    words = {(site, api, status): text for site, api, status, text in engine.explanations()}
    facts = sorted(
        (_explained(_fact(values), words) for values in engine.facts()),
        key=lambda fact: (fact.operation.sequence, fact.code),
    )
    inside = tuple(_operation(values) for values in engine.inside())
    needed = frozenset(engine.needed_waits())
    return Analysis(
        facts,
        engine.operations,
        engine.problems,
        needed,
        inside,
        engine.launched,
        engine.blocks,
        engine.used_host_memory,
    )


def unmet_requirements(threads: Iterable[Thread], packed: Iterable[Packed]) -> frozenset[Requirement]:
    """Return the required orders of a trace of source that do not hold by contract. Looks at nothing else."""
    engine = Engine([thread.process for thread in threads], True, [], [], False, 0)
    _feed(engine, packed)
    return frozenset(map(Requirement._make, engine.unmet()))


def needed_waits(threads: Iterable[Thread], packed: Iterable[Packed]) -> frozenset[tuple[int, int]]:
    """Return site and API of each wait of a trace of source that brought something. Looks at nothing else."""
    engine = Engine([thread.process for thread in threads], False, [], [], False, 0)
    _feed(engine, packed)
    return frozenset(engine.needed_waits())


def _feed(engine: Engine, packed: Iterable[Packed]) -> None:
    for part in packed:
        engine.feed(part)
    engine.finish()


def begins_at(trace: AnalysedTrace) -> int:
    """Return the number of a recording's first operation that does not restate another; 0 for other traces."""
    number = trace.metadata.get(BEGINS_AT, 0) if trace.origin == RECORDING else 0
    return number if isinstance(number, int) and 0 <= number < 1 << 64 else 0


def analyse(trace: AnalysedTrace) -> Analysis:
    """Find what in a trace breaks a rule's condition, aggregated by places. Never fails on a trace's content."""
    recording = trace.origin == RECORDING
    analysis = run(
        trace.threads,
        trace.packed(),
        apis=trace.apis,
        recording=recording,
        begins_at=begins_at(trace),
        judged_from=trace.judged_from,
    )
    said = without_kept_pools(worth_saying(analysis.facts, trace.origin), trace.apis)
    facts = by_place(trace, said, analysis.needed_waits)
    return replace(analysis, facts=uncounted(facts, trace.origin))
