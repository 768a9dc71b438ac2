"""Host functions on a driver's thread: their bodies are run where the stream, or a launched graph, reaches them."""

from __future__ import annotations

from streamsan.cuda_source.device.unknown_extents import UnknownExtents
from streamsan.model.executor import Executor, Region
from streamsan.model.process_state import HostThread
from streamsan.model.resources import Allocation
from streamsan.model.streams_and_graphs import GraphExec, Stream
from streamsan.model.values import Pointer, Value
from streamsan.model.work import HostWork, Work
from streamsan.vocabulary import WaitClass


class HostFunctionsRun(Executor):
    """No device; but host functions run at once, since the model puts the order around them into the trace."""

    extents: UnknownExtents | None = None
    """what compares uses whose bytes no number says"""

    def region(self, allocation: Allocation, pointer: Pointer, size: Value, touches: bool) -> Region | None:
        """Return bytes that stand for those of a use."""
        return None if self.extents is None else self.extents.region(allocation, pointer, size, touches)

    def enqueue(self, thread: HostThread, stream: Stream, work: Work, wait: WaitClass) -> None:
        """Run a host function."""
        _run(work)

    def launch_graph(self, thread: HostThread, executable: GraphExec, stream: Stream) -> None:
        """Run the host functions of a graph, in the order of its nodes."""
        for node in executable.body:
            # A function that was put in later has a key that the trace cannot tie to the node.
            if node.enabled and isinstance(node.work, HostWork) and node.work.key == node.key:
                _run(node.work)


def _run(work: Work) -> None:
    if isinstance(work, HostWork) and callable(work.payload):
        work.payload()
