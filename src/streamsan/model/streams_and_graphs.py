"""Where work goes: streams, events, captures, graphs and their nodes. Plain data.

They stand together because each names the next: a stream knows its capture, a capture its graph, a node its event.
"""

from __future__ import annotations

from msgspec import Struct, field

from streamsan.model.resources import Allocation, Context
from streamsan.model.values import KernelArguments, Value
from streamsan.model.work import NoWork, Work
from streamsan.platforms import CUDA
from streamsan.trace.references import Reference
from streamsan.vocabulary import CaptureMode, NodeKind, StreamKind

LEGACY_HANDLE = CUDA.legacy_stream

PER_THREAD_HANDLE = CUDA.per_thread_stream


class Stream(Struct, eq=False):
    """A stream; handles 1 and 2 are the default streams."""

    handle: int
    kind: StreamKind
    context: Context | None
    alive: bool = True
    assumed: bool = False
    capture: Capture | None = None
    flags: int = 0
    priority: int = 0
    policy: int = 1
    """cudaSynchronizationPolicy"""


class Event(Struct, eq=False):
    """An event."""

    handle: int
    context: Context | None
    alive: bool = True
    assumed: bool = False
    recorded: bool = False
    capture: Capture | None = None
    """its latest record was captured, so that a stream that waits for it joins the capture"""
    flags: int = 0


class Node(Struct, eq=False):
    """A node of a graph."""

    handle: int
    kind: NodeKind
    site: int
    """where it was made, or where the captured call was made"""
    api: str
    references: tuple[Reference, ...] = ()
    work: Work = field(default_factory=NoWork)
    dependencies: list[Node] = field(default_factory=list)
    """the nodes before it, each once"""
    event: Event | None = None
    allocation: Allocation | None = None
    """of ALLOC and FREE nodes"""
    child: Graph | None = None
    """its own copy of a child graph; the node's kind is EMPTY then"""
    bodies: tuple[Graph, ...] = ()
    """of a conditional node; the node's kind is EMPTY then"""
    condition: Condition | None = None
    """of a conditional node; None: nobody knows its handle"""
    parameters: dict[str, Value] = field(default_factory=dict)
    """what a GetParams call gives back"""
    enabled: bool = True
    further: tuple[Work, ...] = ()
    """work that follows `work` in the same node (a batch of memory operations or copies)"""
    type: int = 0
    """cudaGraphNodeType"""
    graph: Graph | None = None
    """the graph that it belongs to; None: it was removed"""
    kernel_arguments: KernelArguments | None = None
    payload: object = None
    """what the caller gave with the call: how to compute a kernel or host function"""
    attributes: dict[Value, dict[str, Value]] = field(default_factory=dict)
    """of a kernel node: attribute -> fields"""


class Condition(Struct, frozen=True):
    """The value by which a conditional node decides what runs."""

    handle: int
    default: int | None
    """its value when a launch begins; None: nobody knows"""


class Graph(Struct, eq=False):
    """A graph: what can be instantiated."""

    handle: int
    context: Context | None
    alive: bool = True
    assumed: bool = False
    """came from code nobody can see, or code nobody can see may have changed it: what it does is not known"""
    nodes: list[Node] = field(default_factory=list)
    instantiated: bool = False
    """it has an executable graph now (with memory nodes there may be only one)"""
    owner: Node | None = None
    """the child or conditional node whose graph this is: it cannot be destroyed on its own"""
    ordered: bool = False
    """dependencies nobody knows were added: each node counts as ordered after those made before it"""
    originals: dict[int, Node] = field(default_factory=dict)
    """of a clone: handle of an original node -> its copy here"""


class BodyNode(Struct, eq=False):
    """A node as an executable graph runs it: children and conditional bodies flattened."""

    number: int
    """from 1, as in the trace; dependencies have smaller numbers"""
    node: Node
    """the node of the graph that it was made from"""
    kind: NodeKind
    references: tuple[Reference, ...]
    work: Work
    dependencies: tuple[int, ...]
    event: Event | None = None
    allocation: Allocation | None = None
    conditional: bool = False
    enabled: bool = True
    further: tuple[Work, ...] = ()
    """work that follows `work` in the same node (a batch of memory operations or copies)"""
    key: int = 0
    """the sync key of a host function that the trace knows for this node"""


class GraphExec(Struct, eq=False):
    """An executable graph."""

    handle: int
    graph: Graph | None
    context: Context | None
    body: list[BodyNode] = field(default_factory=list)
    auto_free: bool = False
    alive: bool = True
    assumed: bool = False
    """what it does is not known (any more)"""
    launches: int = 0
    unfreed: list[Allocation] = field(default_factory=list)
    """own allocations that the last launch left alive"""
    flags: int = 0
    changing: list[BodyNode] = field(default_factory=list)
    """the nodes whose execution changes what the model knows: memory nodes and event records. The others are many."""

    def take_body(self, body: list[BodyNode]) -> None:
        """Give it a body."""
        self.body = body
        changes = (NodeKind.ALLOC, NodeKind.FREE, NodeKind.EVENT_RECORD)
        self.changing = [node for node in body if node.kind in changes]


class Capture(Struct, eq=False):
    """A capture under way, or ended: what streams issue becomes nodes of its graph."""

    handle: int
    origin: Stream
    thread: int
    """index of the host thread that began it"""
    mode: CaptureMode
    graph: Graph
    into: bool = False
    """the graph is the program's own (BeginCaptureToGraph)"""
    active: bool = True
    """False: EndCapture was called"""
    invalid: bool = False
    """a call that a capture forbids was made: EndCapture gives no graph"""
    ends: dict[int, list[Node]] = field(default_factory=dict)
    """handle of a stream that takes part -> the nodes that the next one issued there depends on"""
    streams: dict[int, Stream] = field(default_factory=dict)
    """the streams that take part, by handle"""
    events: dict[int, list[Node]] = field(default_factory=dict)
    """handle of an event -> the nodes that its latest record stands for"""
    unclear: bool = False
    """code nobody can see was given a stream that takes part: it may have ended the capture"""


class MemoryNode(Struct, eq=False):
    """An allocation of a graph: who makes and who frees it."""

    allocation: Allocation
    node: Node
    """its allocation node"""
    freed_in: list[Graph] = field(default_factory=list)
    """graphs that free it: its own, or others"""


class GraphMemory(Struct):
    """Memory that the graphs of a device use, in bytes."""

    used_high: int = 0
    reserved: int = 0
    reserved_high: int = 0


class GraphTable(Struct, eq=False):
    """What a process knows of its graphs beyond their handles."""

    nodes: dict[int, Node] = field(default_factory=dict)
    captures: list[Capture] = field(default_factory=list)
    """under way"""
    captured: bool = False
    """there has been a capture"""
    broken: bool = False
    """a capture has ended without a graph"""
    allocations: dict[int, MemoryNode] = field(default_factory=dict)
    """generation -> its node"""
    conditions: dict[int, Condition] = field(default_factory=dict)
    """of conditional nodes, by handle"""
    memory: dict[int, GraphMemory] = field(default_factory=dict)
    """number of a device in the trace -> its graphs' memory"""
