"""Host functions on a driver's thread: their bodies are run where the stream, or a launched graph, reaches them."""

from __future__ import annotations

from streamsan.model.executor import Executor
from streamsan.model.process_state import HostThread
from streamsan.model.streams_and_graphs import GraphExec, Stream
from streamsan.model.work import HostWork, Work
from streamsan.vocabulary import WaitClass


class HostFunctionsRun(Executor):
    """No device; but host functions run at once, since the model puts the order around them into the trace."""

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
