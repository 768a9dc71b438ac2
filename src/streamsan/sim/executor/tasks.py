"""Issued work, and the streams' timelines that order it. Edges are those of the contract, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from streamsan.model.resources import Context


class Underway(Protocol):
    """Work that has begun and goes on beside everything else: the body of a host function."""

    def settle(self) -> bool:
        """Let it go on until it ends or waits for the program; return whether it has ended."""

    def end(self) -> None:
        """It has ended, and its task is about to."""


Body = Callable[[], Underway | None]
"""Does a task's work, or begins it."""
_MOST_KNOWN = 512
Clock = dict[int, int]
"""timeline's index -> the position up to which its work is ordered before. Never changed once made."""


class Task:
    """One piece of work. It runs once, after its predecessors."""

    __slots__ = (
        "body",
        "condition",
        "done",
        "essential",
        "finished_at",
        "label",
        "number",
        "predecessors",
        "ready_index",
        "site",
        "successors",
        "timeline",
        "unfinished",
    )

    def __init__(self, number: int, timeline: Timeline, label: str, body: Body | None) -> None:
        self.number = number
        """order of issue"""
        self.timeline = timeline
        self.label = label
        """what it is, for messages"""
        self.body = body
        self.site = 0
        """of the call that issued it"""
        self.condition: Callable[[], bool] | None = None
        """a stream memory wait: it cannot run before this holds"""
        self.essential = False
        """runs even if its context is dropped or has failed (what it frees outlives the context)"""
        self.predecessors: tuple[Task, ...] = ()
        """those not done when it was issued; empty once it is done"""
        self.successors: list[Task] = []
        self.unfinished = 0
        """predecessors that are not done"""
        self.ready_index = -1
        self.done = False
        self.finished_at = 0.0
        """ms"""


class ContextWork:
    """What is under way in one context."""

    def __init__(self, context: Context | None) -> None:
        self.context = context
        self.legacy: Timeline | None = None
        self.active: dict[Timeline, None] = {}
        """timelines with work that is not done"""
        self._copy: Task | None = None
        """the latest copy between this context and another one, which was issued to a stream of either"""

    def tails(self) -> list[Task]:
        """Return the last task of each timeline with unfinished work: all work is done when they are."""
        return [*self.copies(), *(timeline.last for timeline in self.active if timeline.last is not None)]

    def copies(self) -> list[Task]:
        """Return the copy between this context and another one that all later work waits for."""
        return [] if self._copy is None or self._copy.done else [self._copy]

    def is_behind(self, copy: Task) -> None:
        """All later work waits for a copy between this context and another one."""
        self._copy = copy


class Timeline:
    """A stream of one context (of one host thread, for a per-thread default stream)."""

    __slots__ = ("blocking", "clock", "index", "is_legacy", "kernel", "last", "position", "work")

    def __init__(self, index: int, work: ContextWork, *, blocking: bool, is_legacy: bool) -> None:
        self.index = index
        self.work = work
        self.blocking = blocking
        """ordered against the legacy default stream"""
        self.is_legacy = is_legacy
        self.last: Task | None = None
        """the last one issued, None when it is done"""
        self.kernel: tuple[Task, tuple[Task, ...]] | None = None
        """the last kernel issued, and what it waited for"""
        self.position = 0
        """number of tasks issued"""
        self.clock: Clock = {}
        """what the program can know to be ordered before the next task"""

    def neighbours(self) -> list[Timeline]:
        """Return the timelines that the default stream's rules put before the next task."""
        if self.is_legacy:
            return [other for other in self.work.active if other.blocking and other is not self]
        legacy = self.work.legacy
        return [legacy] if self.blocking and legacy is not None and legacy.last is not None else []

    def awaited(self) -> list[Task]:
        """Return the tasks that the next one must wait for; also what a wait for the stream waits for."""
        tasks = self.work.copies()
        if self.last is not None:
            tasks.append(self.last)
        tasks.extend(other.last for other in self.neighbours() if other.last is not None)
        return tasks

    def before_kernel(self) -> list[Task] | None:
        """Return what the kernel issued last waited for, and what came beside it since; None: no kernel was last."""
        if self.kernel is None or self.kernel[0] is not self.last:
            return None
        tasks = [task for task in (*self.kernel[1], *self.work.copies()) if not task.done]
        tasks.extend(other.last for other in self.neighbours() if other.last is not None)
        return tasks

    def join_neighbours(self) -> None:
        """Take what the default stream's rules order before this into the clock."""
        for other in self.neighbours():
            self.join(other.index, other.position, other.clock)

    def join(self, index: int, position: int, clock: Clock) -> None:
        """Order a point of another timeline, and all that was before it, before the next task."""
        if index == self.index or self.clock.get(index, -1) >= position:
            return
        joined = dict(self.clock)
        for key, value in clock.items():
            if joined.get(key, -1) < value:
                joined[key] = value
        joined[index] = position
        if len(joined) > _MOST_KNOWN:
            # Old timelines are long done. Forgetting an order only means that a block is not reused early.
            joined = dict(sorted(joined.items())[_MOST_KNOWN // 2 :])
        self.clock = joined

    def has_seen(self, index: int, position: int) -> bool:
        """Return whether a point of a timeline is ordered before the next task."""
        return index == self.index or self.clock.get(index, -1) >= position


def closure(targets: Iterable[Task]) -> dict[Task, None]:
    """Return the tasks that must run for these to be done, themselves included."""
    found: dict[Task, None] = {}
    pending = [task for task in targets if not task.done]
    while pending:
        task = pending.pop()
        if task not in found:
            found[task] = None
            pending.extend(before for before in task.predecessors if not before.done)
    return found
