"""Small random programs over the vocabulary, kept legal by looking at what exists when each step is taken."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

THREADS = 2
CONTEXTS = (50, 60)
STREAM_HANDLES = (10, 11, 12)
UNKNOWN_STREAMS = (20, 21)
EVENTS = (30, 31)
UNKNOWN_EVENT = 35
KEYS = (70, 71)
ADDRESSES = tuple(0x1000 * i for i in range(1, 6))
SIZE = 0x100

NAMES = (
    "create", "destroy", "launch", "launch", "launch", "launch2", "copy", "alloc", "alloc", "free", "free", "record",
    "record", "wait", "wait", "sync_stream", "sync_event", "sync_context", "query", "release", "acquire", "opaque",
    "host_function", "host_access", "event_create", "event_destroy", "current",
)  # fmt: skip


@dataclass(frozen=True)
class Op:
    """One operation; fields that a name does not need are 0 or empty."""

    name: str
    thread: int
    stream: int = 0
    object: int = 0
    kind: str = ""
    references: tuple[tuple[int, str], ...] = ()
    """address and mode"""


@dataclass
class Existing:
    """What exists, so that steps can be made legal."""

    streams: set[int] = field(default_factory=set)
    dead_streams: set[int] = field(default_factory=set)
    events: set[int] = field(default_factory=set)
    dead_events: set[int] = field(default_factory=set)
    live: dict[int, str] = field(default_factory=dict)
    freed: set[int] = field(default_factory=set)


def _pick(options: list, number: int):  # type: ignore[no-untyped-def, type-arg]
    return options[number % len(options)]


def _step(now: Existing, name: str, thread: int, a: int, b: int, c: int) -> Op | None:
    streams = [*sorted(now.streams), 1, 2, *UNKNOWN_STREAMS]
    stream = _pick(streams, a)
    events = [*sorted(now.events), UNKNOWN_EVENT]
    mode = _pick(["read", "write", "opaque"], c)
    if name == "create":
        handle = _pick(list(STREAM_HANDLES), a)
        if handle in now.streams:
            return None
        now.streams.add(handle)
        return Op(name, thread, object=handle, kind=_pick(["blocking", "non_blocking"], b))
    if name == "destroy":
        if not now.streams:
            return None
        handle = _pick(sorted(now.streams), a)
        now.streams.discard(handle)
        return Op(name, thread, object=handle)
    if name in ("launch", "launch2", "copy"):
        addresses = sorted(now.live) + sorted(now.freed)
        if not addresses:
            return None
        references = [(_pick(addresses, b), mode)]
        if name == "launch2":
            references.append((_pick(addresses, c), "write"))
        wait = _pick(["none", "before", "complete", "none"], c // 3) if name == "copy" else "none"
        return Op("copy" if name == "copy" else "launch", thread, stream, kind=wait, references=tuple(references))
    if name == "alloc":
        free = [address for address in ADDRESSES if address not in now.live]
        if not free:
            return None
        address = _pick(free, b)
        kind = _pick(["plain", "ordered", "ordered", "pinned"], c)
        now.live[address] = kind
        now.freed.discard(address)
        return Op(name, thread, stream if kind == "ordered" else 0, kind=kind, references=((address, "opaque"),))
    if name == "free":
        if not now.live:
            return None
        address = _pick(sorted(now.live), b)
        kind = now.live.pop(address)
        now.freed.add(address)
        family = "pinned" if kind == "pinned" else _pick(["device", "async", "async"], c)
        return Op(name, thread, stream if family == "async" else 0, kind=family, references=((address, "opaque"),))
    if name in ("record", "wait"):
        return Op(name, thread, stream, object=_pick(events, b))
    if name in ("sync_stream", "query"):
        return Op(name, thread, stream)
    if name == "sync_event":
        return Op(name, thread, object=_pick(events, b))
    if name == "sync_context":
        return Op(name, thread, object=_pick(list(CONTEXTS), b))
    if name in ("release", "acquire"):
        return Op(name, thread, object=_pick(list(KEYS), a), kind=_pick(["contract", "contract", "run"], b))
    if name == "opaque":
        return Op(name, thread) if a % 2 == 0 else None
    if name == "host_function":
        return Op(name, thread, stream, object=_pick(list(KEYS), b))
    if name == "host_access":
        pinned = [address for address, kind in sorted(now.live.items()) if kind == "pinned"]
        return Op(name, thread, references=((_pick(pinned, b), _pick(["read", "write"], c)),)) if pinned else None
    if name == "event_create":
        handle = _pick(list(EVENTS), a)
        now.events.add(handle)
        return Op(name, thread, object=handle)
    if name == "event_destroy":
        if not now.events:
            return None
        handle = _pick(sorted(now.events), a)
        now.events.discard(handle)
        return Op(name, thread, object=handle)
    return Op("current", thread, object=_pick(list(CONTEXTS), a)) if b % 3 == 0 else None


_STEPS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 11), st.integers(0, 11), st.integers(0, 11), st.integers(0, 11)),
    min_size=4,
    max_size=40,
)


def _program(steps: list[tuple[str, int, int, int, int]]) -> list[Op]:
    now = Existing()
    program = [Op("create_context", 0, object=handle) for handle in CONTEXTS]
    program += [Op("current", thread, object=CONTEXTS[0]) for thread in range(THREADS)]
    for name, thread, a, b, c in steps:
        # Two threads, the second less often.
        made = _step(now, name, 1 if thread >= 8 else 0, a, b, c)
        if made is not None:
            program.append(made)
    return program


PROGRAMS = _STEPS.map(_program)


def random_program(chooser: random.Random) -> list[Op]:
    """Return one, without Hypothesis."""
    numbers = [tuple(chooser.randrange(12) for _ in range(4)) for _ in range(chooser.randint(4, 40))]
    return _program([(chooser.choice(NAMES), *each) for each in numbers])  # type: ignore[misc]


def with_unseen_bodies(program: list[Op]) -> list[Op]:
    """Return the program with host functions whose bodies nobody saw: those of one of the two keys."""
    return [replace(op, object=0) if op.name == "host_function" and op.object == KEYS[1] else op for op in program]
