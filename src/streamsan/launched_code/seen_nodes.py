"""Slots in which what kernels of graphs touched, as exact mode saw it on the device, comes before their launch."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from streamsan.launched_code.seen_accesses import with_modes, with_unseen
from streamsan.trace import Thread
from streamsan.trace.layout import SLOT
from streamsan.trace.store import Slots, SlotStore, uncut_parts
from streamsan.vocabulary import NodeKind, OperationKind, SeenAccesses, SlotFlag

_BODIES = (OperationKind.GRAPH_INSTANTIATE, OperationKind.GRAPH_UPDATE)
_NODES = (OperationKind.GRAPH_NODE, OperationKind.GRAPH_NODE_UPDATE)
_FOLLOWED = (*_BODIES, *_NODES, OperationKind.GRAPH_LAUNCH)
_DETAILS = frozenset(SeenAccesses)
_AHEAD = (*_BODIES, OperationKind.GRAPH_LAUNCH)
"""kinds that accesses are brought before"""
_NOT_KNOWN = -32768
"""status"""
MOST_COMPARED = 1 << 22
"""nodes of launches with those of the launch before, beyond four for each node that the trace tells of: a launch that
is like another is one slot, however many nodes it has"""

Exec = tuple[int, int]
"""process and handle of an executable graph"""


class Told(NamedTuple):
    """What was seen of a node in one launch: how (SeenAccesses; 0: not at all), and its references as slots."""

    detail: int
    further: bytes


OWN = Told(0, b"")
Telling = Mapping[int, Told]
"""by number of the node"""
_NOTHING: Telling = {}


class Ahead(NamedTuple):
    """What is brought before an operation."""

    graph: int
    launch: int
    node: int
    told: Told


class _Graph(Struct):
    """An executable graph, as far as the operations were read."""

    body: int = 0
    """sequence of what gave it its body"""
    kernels: dict[int, Slots] = field(default_factory=dict)
    """its kernel nodes' slots by number"""
    updated: set[int] = field(default_factory=set)
    """nodes that were updated since the latest launch, or since the body"""
    told: Telling = field(default_factory=lambda: _NOTHING)
    """what nodes are taken to touch now"""
    launched: bool = False
    in_part: bool = False
    """of its latest launch not all kernels were seen, or not all that they touched"""


def _is_in_part(graph: _Graph, now: Telling) -> bool:
    """Tell whether a kernel that surely ran was not seen, or not all that one touched."""
    surely = {number for number, slots in graph.kernels.items() if not slots[0]["flags"] & SlotFlag.CONDITIONAL}
    return not surely <= now.keys() or any(told.detail == SeenAccesses.SOME for told in now.values())


class _Tellings:
    """What was told of launches, in the order of the operations."""

    def __init__(self) -> None:
        self.by_launch: dict[int, dict[int, Told]] = {}
        self.nodes = self.learned = 0
        """nodes that were told of, in all launches; launches that were not looked at"""
        self._like: set[int] = set()
        """launches of which it was told that they are like others"""
        self._same: dict[bytes, bytes] = {}

    def add(self, slot: np.void, further: bytes) -> None:
        launch, node, detail = int(slot["object"]), int(slot["address"]), int(slot["detail"])
        if launch in self._like or detail not in _DETAILS:
            return
        if node == 0:
            like = self.by_launch.get(int(slot["size"]))
            if like is not None:
                self.by_launch[launch] = like
                self._like.add(launch)
                self.learned += detail == SeenAccesses.LEARNED
            return
        # Nodes do the same again and again.
        further = self._same.setdefault(further, further)
        self.by_launch.setdefault(launch, {})[node] = Told(detail, further)
        self.nodes += 1


class SlotsWithSeenNodes:
    """The slots of a store with what nodes of executable graphs touched brought before the launch that it was seen in.

    It also comes before a graph's body, as far as the body's first launch shows it: so nodes are compared with each
    other by what they touch. Only what differs from the launch before is brought. What is told of launches that are not
    in the trace is passed over.
    """

    def __init__(self, slots: SlotStore, size: int, threads: Sequence[Thread], talkers: Container[int] = ()) -> None:
        """Read what was seen, in chunks of `size`. `threads`: of the trace. `talkers`: sites of nodes whose kernels may
        poll a word.
        """
        self._slots = slots
        self._talkers = talkers
        self._processes = [thread.process for thread in threads]
        self._ahead: dict[int, list[Ahead]] = {}
        """by sequence"""
        self._own: dict[tuple[int, int], Slots] = {}
        """a node's own slots, by launch and number, of those that were seen"""
        self._nodes: set[int] = set()
        self._left = 0
        """nodes that may be compared yet"""
        self._launches = self._seen = self._some = 0
        """launches of graphs; of how many accesses were seen; of these, with kernels of which they were not"""
        self._tellings = _Tellings()
        self._read(size)
        self._keys = np.array(sorted(self._ahead), np.uint64)

    def _read(self, size: int) -> None:
        for chunk in self._slots.chunks(size, 0):
            for at in np.flatnonzero(chunk["kind"] == OperationKind.NODE_ACCESSES).tolist():
                self._tellings.add(chunk[at], chunk[at + 1 : at + 1 + int(chunk[at]["more"])].tobytes())
        self._left = MOST_COMPARED + 4 * self._tellings.nodes
        # Of a launch it is told after it.
        graphs: dict[Exec, _Graph] = {}
        for chunk in self._slots.chunks(size, 0):
            for at in np.flatnonzero(np.isin(chunk["kind"], _FOLLOWED)).tolist():
                thread = int(chunk[at]["thread"])
                if thread < len(self._processes):
                    self._follow(chunk[at : at + 1 + int(chunk[at]["more"])], self._processes[thread], graphs)

    def _follow(self, slots: Slots, process: int, graphs: dict[Exec, _Graph]) -> None:
        slot, kind = slots[0], int(slots[0]["kind"])
        if kind == OperationKind.GRAPH_NODE:
            graph = graphs.setdefault((process, int(slot["stream"])), _Graph())
            if slot["detail"] == NodeKind.KERNEL:
                graph.kernels[int(slot["object"])] = slots.copy()
            return
        if int(slot["status"]) not in (0, _NOT_KNOWN):
            return
        key = process, int(slot["object"])
        if kind in _BODIES:
            graphs[key] = _Graph(int(slot["sequence"]))
            return
        graph = graphs.setdefault(key, _Graph())
        if kind == OperationKind.GRAPH_NODE_UPDATE:
            self._update(graph, slots)
        elif kind == OperationKind.GRAPH_LAUNCH:
            self._launch(graph, key[1], int(slot["sequence"]))

    @staticmethod
    def _update(graph: _Graph, slots: Slots) -> None:
        number = int(slots[0]["address"])
        graph.kernels.pop(number, None)
        if slots[0]["detail"] == NodeKind.KERNEL:
            graph.kernels[number] = slots.copy()
        graph.updated.add(number)

    def _launch(self, graph: _Graph, handle: int, sequence: int) -> None:
        self._launches += 1
        # Beyond the bound a launch is one that was not looked at: its nodes do what their arguments let them do.
        now = self._tellings.by_launch.get(sequence, _NOTHING) if self._left > 0 else _NOTHING
        self._seen += bool(now)
        if graph.told is now and graph.launched and not graph.updated:
            self._some += graph.in_part
            return
        self._left -= len(now) + len(graph.told) + (len(graph.kernels) if now else 0)
        graph.in_part = bool(now) and _is_in_part(graph, now)
        self._some += graph.in_part
        known = graph.kernels.keys()
        first = not graph.launched and graph.body
        stale = graph.told.keys() - now.keys()
        changes = [
            (number, told)
            for number, told in now.items()
            if number in known and (number in graph.updated or graph.told.get(number) != told)
        ]
        ahead = [Ahead(handle, sequence, number, told) for number, told in changes]
        ahead += [Ahead(handle, sequence, number, OWN) for number in sorted(stale) if number in known]
        for number, told in changes:
            self._nodes.add(int(graph.kernels[number][0]["sequence"]))
            if told.detail:
                self._own[sequence, number] = graph.kernels[number]
        if ahead:
            self._ahead.setdefault(sequence, []).extend(ahead)
            if first:
                self._ahead.setdefault(graph.body, []).extend(each for each in ahead if each.node not in graph.updated)
        graph.told, graph.launched = now, True
        graph.updated.clear()

    @property
    def nodes(self) -> Set[int]:
        """The sequences of what describes nodes of which accesses were seen."""
        return self._nodes

    def count(self) -> int:
        """Return the number of operations."""
        return self._slots.count()

    def remarks(self) -> list[str]:
        """Return what is to be said of them, one line each."""
        if not self._launches:
            return []
        if not self._seen:
            return ["what kernels of graphs touch was not seen on the device"]
        learned = self._tellings.learned
        seen = self._seen - learned
        text = "what kernels of graphs touch was seen on the device"
        if seen != self._launches:
            text += f" for {seen:,} of {self._launches:,} launches of graphs"
        if learned:
            text += f" and trusted to be the same for {learned:,}"
        if self._some:
            text += f"; for {self._some:,} not of all kernels, or not all of it"
        return [text]

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield the slots."""
        for chunk in self._slots.chunks(size, first):
            yield from uncut_parts(self._extended(chunk), size)

    def _extended(self, slots: Slots) -> Slots:
        at = np.flatnonzero(np.isin(slots["kind"], _AHEAD))
        at = at[np.isin(slots["sequence"][at], self._keys)]
        if not len(at):
            return slots
        parts: list[Slots] = []
        begin = 0
        for place in at.tolist():
            parts.append(slots[begin:place])
            parts += [self._slots_of(each, slots[place]) for each in self._ahead[int(slots[place]["sequence"])]]
            begin = place
        return np.concatenate([*parts, slots[begin:]])

    def _slots_of(self, ahead: Ahead, before: np.void) -> Slots:
        """Return the operation to bring before `before`. It has no number: it is none of the program."""
        further = np.frombuffer(ahead.told.further, SLOT)
        own = self._own.get((ahead.launch, ahead.node))
        if own is not None:
            further = with_unseen(with_modes(further, own, int(own[0]["site"]) in self._talkers), own)
        made = np.zeros(1 + len(further), SLOT)
        made[1:] = further
        head = made[:1]
        head["kind"] = OperationKind.NODE_ACCESSES
        head["detail"] = ahead.told.detail
        head["stream"], head["object"], head["address"] = ahead.graph, ahead.launch, ahead.node
        head["thread"] = before["thread"]
        head["more"] = len(further)
        return made
