"""Programs that build and capture graphs, and how their traces show bodies."""

from __future__ import annotations

from dataclasses import dataclass

from model_program import Program, Seen

from streamsan.model.executor import Executor
from streamsan.model.values import Value
from streamsan.vocabulary import NodeKind, OperationKind

OUT = 1


class Ran(Executor):
    """Keeps what was launched and trimmed."""

    def __init__(self) -> None:
        super().__init__()
        self.launched: list[tuple[object, object]] = []
        self.enqueued: list[object] = []
        self.trimmed = 0

    def launch_graph(self, thread, executable, stream) -> None:
        self.launched.append((executable, stream))

    def enqueue(self, thread, stream, work, wait) -> None:
        self.enqueued.append(work)

    def trim(self, pool, keep) -> None:
        self.trimmed += 1


@dataclass(frozen=True)
class Body:
    """A body as the trace has it."""

    nodes: dict[int, Seen]
    edges: set[tuple[int, int]]

    @property
    def kinds(self) -> list[str]:
        return [NodeKind(node.detail).name for node in self.nodes.values()]


class GraphProgram(Program):
    """A program with a device, a stream and an event at hand."""

    def __init__(self, **options) -> None:
        self.ran = Ran()
        super().__init__(executor=self.ran, **options)
        self.stream = self.make("cudaStreamCreateWithFlags", OUT, 1)
        self.event = self.make("cudaEventCreate", OUT)

    def begin(self, stream: Value = None, mode: int = 0) -> None:
        assert self.call("cudaStreamBeginCapture", stream or self.stream, mode).status == 0

    def end(self, stream: Value = None) -> Value:
        return self.make("cudaStreamEndCapture", stream or self.stream, OUT)

    def graph(self) -> Value:
        return self.make("cudaGraphCreate", OUT, 0)

    def instantiate(self, graph: Value, flags: int = 0) -> Value:
        return self.make("cudaGraphInstantiate", OUT, graph, flags)

    def nodes(self, *given: Value) -> dict[str, Value]:
        return {str(position): value for position, value in enumerate(given)}

    def add(self, api: str, graph: Value, after: tuple[Value, ...], *arguments: Value, **more) -> Value:
        structures = {"pDependencies": self.nodes(*after), **more.pop("structures", {})}
        outcome = self.call(api, OUT, graph, 1, len(after), *arguments, structures=structures, **more)
        assert outcome.status == 0, outcome
        return outcome.outputs["pGraphNode"]

    def body(self) -> Body:
        """The body that was announced last."""
        found = self.operations()
        heads = (OperationKind.GRAPH_INSTANTIATE, OperationKind.GRAPH_UPDATE)
        start = max(index for index, each in enumerate(found) if each.kind in heads)
        part = found[start + 1 : start + 1 + found[start].size]
        nodes = {each.object: each for each in part if each.kind is OperationKind.GRAPH_NODE}
        edges = {(each.object, each.address) for each in part if each.kind is OperationKind.GRAPH_EDGE}
        assert len(part) == len(nodes) + len(edges) == found[start].size
        assert list(nodes) == list(range(1, len(nodes) + 1))
        assert all(near < far for near, far in edges)
        assert {each.stream for each in part} <= {found[start].object}
        return Body(nodes, edges)

    def seen_after(self, count: int) -> list[str]:
        return [each.kind.name for each in self.operations()[count:]]
