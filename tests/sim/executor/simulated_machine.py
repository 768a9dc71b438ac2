"""Programs on the simulated device, without the model: streams, events and allocations made by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from streamsan.model.executor import Executor
from streamsan.model.process_state import HostThread, Process
from streamsan.model.resources import Allocation, Context, OtherHandle
from streamsan.model.streams_and_graphs import (
    LEGACY_HANDLE,
    PER_THREAD_HANDLE,
    BodyNode,
    Event,
    GraphExec,
    Node,
    Stream,
)
from streamsan.model.values import Symbol
from streamsan.model.work import CopyWork, FillWork, HostWork, KernelWork, NoWork, Place, ValueWork, Work
from streamsan.sim.executor.simulated_device import SimulatedDevice
from streamsan.sim.options import Driver, Schedule, SimulationOptions
from streamsan.sim.payloads import DeviceMemory
from streamsan.vocabulary import ContextKind, FreeClass, MemoryKind, NodeKind, StreamKind, WaitClass

SCHEDULES: tuple[Schedule | int, ...] = (Schedule.EAGER, Schedule.LAZY, *range(8))
READ_AND_WRITE = 3
"""CU_MEM_ACCESS_FLAGS_PROT_READWRITE"""
UNKNOWN = Symbol(0, "answer", "input")


class Body:
    """A kernel whose body is a Python function over memory."""

    def __init__(self, function: Callable[[DeviceMemory], None]) -> None:
        self.function = function

    def run(self, memory: DeviceMemory) -> None:
        self.function(memory)


class Machine:
    """A simulated device with one process, one thread, one context."""

    def __init__(
        self, schedule: Schedule | int = Schedule.LAZY, driver: Driver = Driver.CONTRACT, devices: int = 1
    ) -> None:
        self.device = SimulatedDevice(SimulationOptions(schedule, driver, devices))
        self.executor: Executor = self.device
        self._next = 0x1000
        self.process = Process(0)
        self.context = self.new_context()
        self.thread = self.new_thread()
        self.legacy = Stream(LEGACY_HANDLE, StreamKind.LEGACY, None)
        self.per_thread = Stream(PER_THREAD_HANDLE, StreamKind.PER_THREAD, None)

    def _handle(self) -> int:
        self._next += 1
        return self._next

    def new_context(self, ordinal: int = 0) -> Context:
        return Context(self._handle(), ContextKind.PRIMARY, ordinal, ordinal)

    def new_thread(self) -> HostThread:
        return HostThread(self._handle(), self.process, "thread", [self.context])

    def stream(self, kind: StreamKind = StreamKind.BLOCKING, context: Context | None = None) -> Stream:
        return Stream(self._handle(), kind, context or self.context)

    def event(self) -> Event:
        return Event(self._handle(), self.context)

    # -- memory
    def allocate(
        self,
        size: int,
        kind: MemoryKind = MemoryKind.PLAIN,
        stream: Stream | None = None,
        context: Context | None = None,
        pool: OtherHandle | None = None,
        wanted: int = 0,
    ) -> Allocation:
        context = context or self.context
        address = self.executor.place(size, kind, context, stream, pool, wanted, self.thread)
        assert address is not None
        made = Allocation(address, size, self._handle(), kind, context)
        if kind is MemoryKind.MAPPED and wanted:
            self.executor.set_access(made, context.ordinal, READ_AND_WRITE)
        return made

    def allocate_async(self, size: int, stream: Stream, pool: OtherHandle | None = None) -> Allocation:
        return self.allocate(size, MemoryKind.STREAM_ORDERED, stream, pool=pool)

    def free(self, allocation: Allocation, family: FreeClass = FreeClass.DEVICE) -> None:
        self.executor.free(self.thread, allocation, family, None)

    def free_async(self, allocation: Allocation, stream: Stream) -> None:
        self.executor.free(self.thread, allocation, FreeClass.ASYNC, stream)

    def words(self, allocation: Allocation) -> list[int]:
        count = allocation.size // 4
        return np.frombuffer(self.device.read(allocation.address, count * 4), dtype=np.uint32).tolist()

    def word(self, allocation: Allocation) -> int:
        return self.words(allocation)[0]

    # -- work
    def issue(self, stream: Stream, work: Work, wait: WaitClass = WaitClass.NONE) -> None:
        self.executor.enqueue(self.thread, stream, work, wait)

    def kernel(self, stream: Stream, function: Callable[[DeviceMemory], None], name: str = "kernel") -> None:
        self.issue(stream, KernelWork(name, (), Body(function)))

    def note(self, stream: Stream, log: list[str], entry: str) -> None:
        """Issue a kernel that writes an entry of a log."""
        self.kernel(stream, lambda memory: log.append(entry), entry)

    def fill(self, stream: Stream, allocation: Allocation, value: int) -> None:
        self.issue(stream, FillWork(Place(allocation.address), value, 4, allocation.size // 4))

    def copy(self, stream: Stream, to: Allocation, source: Allocation, wait: WaitClass = WaitClass.NONE) -> None:
        self.issue(stream, CopyWork(Place(to.address), Place(source.address), min(to.size, source.size)), wait)

    def host_function(self, stream: Stream, function: Callable[[], None]) -> None:
        self.issue(stream, HostWork(function))

    # -- order
    def record(self, stream: Stream, event: Event | None = None) -> Event:
        event = event or self.event()
        self.executor.record(self.thread, stream, event)
        return event

    def wait(self, stream: Stream, event: Event) -> None:
        self.executor.wait_event(self.thread, stream, event)

    def synchronize(self, stream: Stream | None = None) -> None:
        if stream is None:
            self.executor.synchronize_context(self.thread, self.context)
        else:
            self.executor.synchronize_stream(self.thread, stream)

    # -- graphs
    def launch(self, executable: GraphExec, stream: Stream) -> None:
        self.executor.launch_graph(self.thread, executable, stream)


def value_work(allocation: Allocation, value: int, condition: str) -> ValueWork:
    return ValueWork(allocation.address, 4, value, condition)


def kernel_work(function: Callable[[DeviceMemory], None], name: str = "node") -> KernelWork:
    return KernelWork(name, (), Body(function))


def body_node(
    number: int,
    work: Work | None = None,
    dependencies: tuple[int, ...] = (),
    kind: NodeKind = NodeKind.KERNEL,
    allocation: Allocation | None = None,
    event: Event | None = None,
) -> BodyNode:
    work = work or NoWork()
    node = Node(number, kind, 0, "")
    return BodyNode(number, node, kind, (), work, dependencies, event, allocation)


def words_of(memory: DeviceMemory, allocation: Allocation) -> np.ndarray:
    """Return the words of an allocation as a kernel sees them."""
    return memory.view(allocation.address, allocation.size // 4 * 4).view(np.uint32)
