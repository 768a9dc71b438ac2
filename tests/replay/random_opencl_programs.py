"""Random OpenCL programs as traces: in-order queues and an out-of-order one, events, user events, barriers, maps."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from opencl_program import READ, WRITE, OpenCL

from streamsan.vocabulary import AccessMode, CallbackTime, FreeClass, MarkerKind, MemoryKind

IN_ORDER, OUT_OF_ORDER = (1000, 1001), 1002
BUFFERS = (1 << 61, (1 << 61) + 0x1000, (1 << 61) + 0x2000)
SHARED, HOST, UNNAMED = 0x70000, 0x80000, 0x90000
FIRST_POINTER, FIRST_EVENT, FIRST_KEY = 0xA0000, 500, 7000
MODES = (READ, WRITE, AccessMode.READ_WRITE)


@dataclass
class Writer:
    """Writes one program; `choose` decides all that is left open."""

    choose: random.Random
    program: OpenCL = field(default_factory=lambda: OpenCL(*IN_ORDER, out_of_order=(OUT_OF_ORDER,), threads=2))
    events: list[int] = field(default_factory=list)
    unset: list[int] = field(default_factory=list)
    """user events that are not set"""
    maps: list[tuple[int, int, AccessMode]] = field(default_factory=list)
    """pointer, buffer, mode"""
    made: int = 0
    shared_is_alive: bool = True

    def write(self, steps: int) -> OpenCL:
        """Write a program of some steps."""
        program = self.program
        for buffer in BUFFERS:
            program.buffer(buffer)
        program.svm(SHARED)
        program.alloc(HOST, MemoryKind.HOST_HEAP, api="malloc")
        actions: tuple[Callable[[], object], ...] = (
            *[self.kernel] * 4,
            *[self.transfer] * 3,
            self.map,
            self.unmap,
            self.marker,
            self.user_event,
            *[self.set_event] * 2,
            *[self.wait] * 2,
            self.host,
            self.callback,
            self.shared_free,
        )
        for _ in range(steps):
            self.choose.choice(actions)()
        for event in list(self.unset):
            self.set_event(event)
        return program

    def queue(self) -> int:
        return self.choose.choice((*IN_ORDER, OUT_OF_ORDER, OUT_OF_ORDER))

    def after(self) -> tuple[int, ...]:
        return tuple(self.choose.sample(self.events, min(len(self.events), self.choose.choice((0, 0, 1, 1, 2)))))

    def event(self) -> int:
        if self.choose.random() < 0.3:
            return 0
        self.made += 1
        return FIRST_EVENT + self.made

    def known(self, event: int) -> None:
        if event:
            self.events.append(event)

    def kernel(self) -> None:
        places = [*BUFFERS, SHARED] if self.shared_is_alive else [*BUFFERS]
        chosen = self.choose.sample(places, self.choose.choice((1, 1, 2)))
        event = self.event()
        self.program.kernel(
            self.queue(), *chosen, mode=self.choose.choice(MODES), after=self.after(), event=event, thread=self.thread()
        )
        self.known(event)

    def transfer(self) -> None:
        event = self.event()
        known = self.choose.random() < 0.5
        blocking = self.choose.random() < 0.2 and not self.unset
        self.program.transfer(
            self.queue(),
            self.choose.choice(BUFFERS),
            self.choose.choice((READ, WRITE)),
            blocking=blocking,
            after=self.after(),
            event=event,
            host=HOST if known else 0,
            unnamed=0 if known else UNNAMED,
            thread=self.thread(),
        )
        self.known(event)

    def thread(self) -> int:
        return self.choose.choice((0, 0, 0, 1))

    def map(self) -> None:
        mode = self.choose.choice((READ, WRITE, AccessMode.READ_WRITE))
        buffer, event = self.choose.choice(BUFFERS), self.event()
        pointer = FIRST_POINTER + 0x1000 * self.made
        self.made += 1
        blocking = self.choose.random() < 0.5 and not self.unset
        self.program.map(self.queue(), pointer, buffer, mode, blocking=blocking, after=self.after(), event=event)
        self.maps.append((pointer, buffer, mode))
        self.known(event)

    def unmap(self) -> None:
        if self.maps:
            pointer, buffer, mode = self.maps.pop(self.choose.randrange(len(self.maps)))
            event = self.event()
            region = 0 if mode is READ else buffer
            self.program.unmap(self.queue(), pointer, region, event=event, after=self.after())
            self.known(event)

    def marker(self) -> None:
        event = self.event()
        self.program.marker(self.queue(), self.choose.choice(list(MarkerKind)), after=self.after(), event=event)
        self.known(event)

    def user_event(self) -> None:
        self.made += 1
        event = FIRST_EVENT + self.made
        self.program.user_event(event)
        self.unset.append(event)
        self.events.append(event)

    def set_event(self, event: int = 0) -> None:
        if event or self.unset:
            event = event or self.choose.choice(self.unset)
            self.unset.remove(event)
            self.program.set_event(event, thread=self.thread())

    def wait(self) -> None:
        if self.unset:
            return  # it may never come back
        if self.events and self.choose.random() < 0.5:
            self.program.wait_for(self.choose.choice(self.events), thread=self.thread())
        else:
            self.program.finish(self.queue(), thread=self.thread())

    def host(self) -> None:
        places = [HOST, *(pointer for pointer, _, _ in self.maps)]
        self.program.host(self.choose.choice(places), self.choose.choice((READ, WRITE)), thread=self.thread())

    def callback(self) -> None:
        if self.events and not self.unset:
            self.made += 1
            key = FIRST_KEY + self.made
            self.program.callback(self.choose.choice(self.events), key, self.choose.choice(list(CallbackTime)))
            self.program.body_begins(key)
            self.program.host(HOST, self.choose.choice((READ, WRITE)), thread=1)
            self.program.body_ends(key)

    def shared_free(self) -> None:
        if self.shared_is_alive and self.choose.random() < 0.3:
            self.shared_is_alive = False
            self.program.free(SHARED, FreeClass.CL_SVM, api="clSVMFree")
