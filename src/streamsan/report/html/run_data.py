"""A timeline as the page takes it: short tables as JSON, columns of numbers as packed arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamsan.findings.fingerprint import shown_path
from streamsan.findings.wait_cost import RunCosts
from streamsan.report.html.embedding import Arrays
from streamsan.timeline import Timeline
from streamsan.timeline.drawn_edges import REASON_WORDS, EdgeReason
from streamsan.timeline.memory_bars import OVERLAYS
from streamsan.vocabulary import MemoryKind


def run_data(
    timeline: Timeline, arrays: Arrays, findings_at: Mapping[tuple[str, int], list[int]], costs: RunCosts | None
) -> dict[str, Any]:
    """Return one run. `findings_at`: by file and line the numbers of the findings that are reported there."""
    memory, edges = timeline.memory, timeline.edges
    failed = np.flatnonzero(timeline.status > 0)
    return {
        "title": timeline.title,
        "platform": timeline.platform,
        "origin": timeline.origin,
        "operations": timeline.operations,
        "timed": timeline.timed,
        "notes": list(timeline.notes),
        "lanes": [[lane.kind.value, lane.name, lane.process, lane.rank] for lane in timeline.lanes],
        "calls": [
            [call.kind, call.name, shown_path(call.file), call.line, call.function, call.memory]
            for call in timeline.calls
        ],
        "lane": arrays.add(_small(timeline.lane, len(timeline.lanes))),
        "issuer": arrays.add(_small(timeline.issuer, len(timeline.lanes))),
        "call": arrays.add(_small(timeline.call, len(timeline.calls))),
        "failed": arrays.add(failed.astype(np.uint32), differences=True),
        **_times(timeline, arrays),
        "memory": {
            "begin": arrays.add(memory.begin, differences=True),
            "end": arrays.add(memory.end),
            "size": arrays.add(memory.size.astype(np.float64)),
            "kind": arrays.add(memory.kind),
            "pool": arrays.add(_small(memory.pool, len(memory.pools))),
            "pools": list(memory.pools),
            "kinds": {int(kind): kind.name.lower().replace("_", "-") for kind in MemoryKind},
            "overlays": [int(kind) for kind in OVERLAYS],
        },
        "edges": {
            "source": arrays.add(edges.source),
            "target": arrays.add(edges.target, differences=True),
            "reason": arrays.add(edges.reason),
            "reasons": [REASON_WORDS[reason] for reason in EdgeReason],
        },
        "costs": None if costs is None else [costs.recorded_ns, costs.together_ns, costs.together_spread_ns],
        "waits": list(_waits(timeline, findings_at, costs)),
    }


def _waits(
    timeline: Timeline, findings_at: Mapping[tuple[str, int], list[int]], costs: RunCosts | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table of waits: all waits, and what else costs time."""
    priced = {(cost.location.file, cost.location.line, cost.call): cost for cost in costs.waits} if costs else {}

    def row(call: int, count: int, first: int, waited: int, adds: bool | None) -> dict[str, Any]:
        drawn = timeline.calls[call]
        cost = priced.pop((drawn.file, drawn.line, drawn.name), None)
        return {
            "call": call,
            "count": count,
            "first": first,
            "ns": waited,
            "adds": adds,
            "saves": None if cost is None else [cost.saves_ns, cost.spread_ns],
            "findings": findings_at.get((drawn.file, drawn.line), []),
        }

    for site in timeline.waits:
        yield row(site.call, site.count, site.first, site.nanoseconds, site.adds_order)
    for number, call in enumerate(timeline.calls):
        cost = priced.get((call.file, call.line, call.name))
        if cost is not None:
            first = int(np.argmax(timeline.call == number))
            yield row(number, cost.count, first, cost.waited_ns, cost.adds_order)


def _times(timeline: Timeline, arrays: Arrays) -> dict[str, Any]:
    """Return times in 32 bits, in units of so many ns that the whole run fits, and durations in ns.

    Work stands where the device did it, as far as that is known, else where it was called.
    """
    if not timeline.timed:
        return {"unit": 0}
    ran = timeline.ran_for > 0
    time = np.where(ran, timeline.ran_at, timeline.time)
    duration = np.where(ran, timeline.ran_for, timeline.duration)
    unit = max(1, int(time.max()) >> 32, -(-int(time.max()) // 0xFFFFFFFF))
    return {
        "unit": unit,
        "time": arrays.add((time // np.uint64(unit)).astype(np.uint32), differences=True),
        "duration": arrays.add(duration.astype(np.float32)),
    }


def _small(column: NDArray[Any], values: int) -> NDArray[Any]:
    """Return a column of numbers below `values` in as few bytes as they need."""
    return column.astype(np.uint8 if values <= 1 << 8 else np.uint16 if values <= 1 << 16 else np.uint32)
