"""Scenes: for each finding that comes from a trace, what a report draws of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from streamsan.findings.finding import Finding
from streamsan.findings.same_site import by_site
from streamsan.findings.scene import Scene, SceneBar, SceneEdge, SceneLane, SceneOperation, Strength
from streamsan.order.facts import Operation
from streamsan.rules.case import Case, case_of
from streamsan.rules.every_rule import RULES
from streamsan.rules.wrong_execution import WrongExecution
from streamsan.timeline.scene_order import orders
from streamsan.timeline.scene_window import Window, window_of, worth_drawing
from streamsan.timeline.timeline import Timeline
from streamsan.trace import Trace, TraceError
from streamsan.vocabulary import AccessMode, FactVariant, OperationKind

WHOSE = "the default stream of "
MOST_SCENES = 200
"""of one trace, the gravest findings first"""
TOO_MANY = f"only the {MOST_SCENES} gravest findings of a run have a picture"
MOST_BARS = 5
"""allocations of a scene"""
UNORDERED, UNPROMISED = "nothing orders them", "nothing promises this order"
OVERTAKES = "need not have ended"
_ACCESS = {AccessMode.READ: "reads", AccessMode.WRITE: "writes", AccessMode.READ_WRITE: "writes"}
_USES = (
    OperationKind.LAUNCH,
    OperationKind.COPY,
    OperationKind.MEMSET,
    OperationKind.PREFETCH,
    OperationKind.HOST_ACCESS,
    OperationKind.GRAPH_LAUNCH,
    OperationKind.GRAPH_NODE,
)


class _Part(Struct, frozen=True):
    """One finding of a trace that can be drawn."""

    finding: Finding
    case: Case
    plan: WrongExecution | None
    named: Mapping[int, tuple[str, Operation]]
    """by index in the timeline: role, and the operation as the fact has it"""
    window: Window


def with_scenes(findings: Iterable[Finding], timeline_for: Callable[[Trace], Timeline]) -> list[Finding]:
    """Return the findings, each with its scene where its trace is at hand. One pass for each trace.

    Of many findings at one site the first is drawn. Those of a trace that can no longer be read stay as they are; those
    that are too many say so.
    """
    every = list(findings)
    told = [site.first for site in by_site(every)]
    by_trace: dict[int, tuple[Trace, list[Finding]]] = {}
    for finding in sorted(told, key=lambda each: each.strength):
        case = case_of(finding)
        if case is not None and isinstance(case.names, Trace):
            by_trace.setdefault(id(case.names), (case.names, []))[1].append(finding)
    scenes: dict[int, Scene] = {}
    too_many: set[int] = set()
    for trace, own in by_trace.values():
        too_many.update(id(each) for each in own[MOST_SCENES:])
        try:
            scenes.update(_scenes(trace, timeline_for(trace), own[:MOST_SCENES]))
        except (TraceError, OSError):
            continue
    return [
        replace(each, scene=scenes.get(id(each)), no_scene=TOO_MANY if id(each) in too_many else "") for each in every
    ]


def _scenes(trace: Trace, timeline: Timeline, findings: Sequence[Finding]) -> dict[int, Scene]:
    worth = worth_drawing(timeline)
    parts = [part for finding in findings if (part := _part(timeline, finding, worth)) is not None]
    windows = [part.window for part in parts]
    found = {}
    for number, edges in orders(trace, timeline, windows):
        part = parts[number]
        found[id(part.finding)] = _scene(timeline, part, edges)
    return found


def _part(timeline: Timeline, finding: Finding, worth: NDArray[np.bool_]) -> _Part | None:
    case = case_of(finding)
    assert case is not None
    plan = RULES[finding.code].wrong_execution(case) if RULES[finding.code].is_about_order else None
    wrong = plan if isinstance(plan, WrongExecution) else None
    operations: list[tuple[str, Operation]] = []
    if wrong is not None:
        operations += [("", wrong.ahead), ("", wrong.behind)]
    operations += [(role.name.lower(), operation) for role, operation in case.fact.related]
    operations.append(("reported", case.operation))
    named: dict[int, tuple[str, Operation]] = {}
    for role, operation in operations:
        index = timeline.index_of(operation.sequence) if operation.sequence else -1
        if index >= 0:
            named[index] = (role or named.get(index, ("",))[0], operation)
    if not named:
        return None
    turns_on = {case.operation.sequence} | ({wrong.ahead.sequence, wrong.behind.sequence} if wrong else set())
    centre = [index for index, (_, operation) in named.items() if operation.sequence in turns_on] or list(named)
    return _Part(finding, case, wrong, named, window_of(timeline, list(named), centre, worth))


def _scene(timeline: Timeline, part: _Part, order: Sequence[SceneEdge]) -> Scene:
    rows = part.window.operations
    place = {row: number for number, row in enumerate(rows)}
    used = {int(timeline.lane[row]) for row in rows} | {int(timeline.issuer[row]) for row in rows}
    lanes = sorted(used)
    names = _names(timeline, part)
    lane_of = {lane: number for number, lane in enumerate(lanes)}
    operations = tuple(_operation(timeline, part, rows, number, lane_of) for number in range(len(rows)))
    edges = list(order)
    if part.plan is not None:
        ahead, behind = (timeline.index_of(each.sequence) for each in (part.plan.ahead, part.plan.behind))
        if ahead in place and behind in place:
            edges.append(_decisive(part.plan, place[ahead], place[behind]))
    elif part.case.fact.variant is FactVariant.PENDING_WORK:
        reset = timeline.index_of(part.case.operation.sequence)
        uses = [index for index, (role, _) in part.named.items() if role == "use"]
        edges += [SceneEdge(place[use], place[reset], UNORDERED, Strength.MISSING) for use in uses if reset in place]
    return Scene(
        lanes=tuple(
            SceneLane(timeline.lanes[lane].kind.value, names.get(lane, timeline.lanes[lane].name)) for lane in lanes
        ),
        operations=operations,
        edges=tuple(edges),
        bars=_bars(timeline, part, place),
        moves=part.finding.moves,
        run=timeline.title,
    )


def _decisive(plan: WrongExecution, ahead: int, behind: int) -> SceneEdge:
    """Return the edge that the finding is about: what should be complete before the other, and is not for sure."""
    if plan.certain:
        return SceneEdge(ahead, behind, "comes after it", Strength.WRONG)
    reason = OVERTAKES if plan.overtakes else UNPROMISED if plan.unpromised else UNORDERED
    return SceneEdge(behind, ahead, reason, Strength.MISSING)


def _names(timeline: Timeline, part: _Part) -> dict[int, str]:
    """Return the lanes that the finding names, in its words."""
    found = {}
    for index, (_, operation) in part.named.items():
        lane = int(timeline.lane[index])
        name = part.case.in_own_words(part.case.stream(operation))
        if timeline.lanes[lane].kind.value in ("stream", "queue") and name.startswith(("stream ", "queue ", WHOSE)):
            found[lane] = name.removeprefix("the ")
    return found


def _operation(
    timeline: Timeline, part: _Part, rows: Sequence[int], number: int, lane_of: Mapping[int, int]
) -> SceneOperation:
    row = rows[number]
    call = timeline.calls[int(timeline.call[row])]
    role, operation = part.named.get(row, ("", None))
    lane, issuer = int(timeline.lane[row]), int(timeline.issuer[row])
    access = ""
    if operation is not None and operation.kind in _USES and role in ("use", "reported", "other"):
        access = _ACCESS.get(AccessMode(operation.flags & 3), "accesses")
    return SceneOperation(
        lane=lane_of[lane],
        issuer=-1 if lane == issuer else lane_of[issuer],
        number=int(timeline.sequence[row]),
        place=row,
        kind=call.kind,
        name=call.name,
        file=call.file,
        line=call.line,
        role=role,
        says=_says(part.finding, role, call.file, call.line),
        access=access,
        left_out=row - rows[number - 1] - 1 if number else row,
    )


def _says(finding: Finding, role: str, file: str, line: int) -> str:
    if not role or not line:
        return ""
    said = [related for related in finding.related if (related.file, related.line) == (file, line)]
    # Of several words on one line those for this operation's part in it.
    own = [related for related in said if related.role == role] or said
    return own[0].message if own else ""


def _bars(timeline: Timeline, part: _Part, place: Mapping[int, int]) -> tuple[SceneBar, ...]:
    """Return the finding's memory, and what else the scene's operations make or end."""
    memory = timeline.memory
    first, last = min(place), max(place)
    found: list[SceneBar] = []
    own = _own_bar(timeline, part)
    near = np.flatnonzero((memory.begin >= first) & (memory.begin <= last)).tolist()
    near += np.flatnonzero((memory.end >= first) & (memory.end <= last) & (memory.begin < first)).tolist()
    drawn = [each for each in near if int(memory.begin[each]) in place or int(memory.end[each]) in place]
    for bar in ([] if own is None else [own]) + [each for each in drawn if each != own]:
        begin, end = place.get(int(memory.begin[bar]), -1), place.get(int(memory.end[bar]), -1)
        name = part.case.memory().strip("`") if bar == own else _memory_name(timeline, bar)
        if name and len(found) < MOST_BARS:
            found.append(SceneBar(name, begin, end, _uses(part, place) if bar == own else (), bar == own))
    return tuple(found)


def _memory_name(timeline: Timeline, bar: int) -> str:
    return timeline.calls[int(timeline.call[int(timeline.memory.begin[bar])])].memory


def _own_bar(timeline: Timeline, part: _Part) -> int | None:
    """Return the bar of the finding's memory: the youngest at its address when the finding's operations begin."""
    allocation = part.case.allocation
    if allocation is None or not allocation.address:
        return None
    memory = timeline.memory
    made = [index for index, (role, _) in part.named.items() if role == "alloc"]
    used = [index for index, (role, _) in part.named.items() if role in ("use", "free")] or list(part.named)
    at = np.flatnonzero(memory.address == np.uint64(allocation.address))
    for index in made:
        exact = at[memory.begin[at] == index]
        if len(exact):
            return int(exact[0])
    older = at[memory.begin[at] <= max(used)]
    return int(older[-1]) if len(older) else None


def _uses(part: _Part, place: Mapping[int, int]) -> tuple[int, ...]:
    uses = [index for index, (_, operation) in part.named.items() if operation.kind in _USES]
    return tuple(sorted(place[index] for index in uses if index in place))
