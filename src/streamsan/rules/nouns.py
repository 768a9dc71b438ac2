"""What operations are called in messages where they have no name of their own, and how memory came to be."""

from __future__ import annotations

from streamsan.vocabulary import MemoryKind, OperationKind

WORK = {
    OperationKind.QUEUE_MARKER: "the marker",
    OperationKind.COPY: "the copy",
    OperationKind.MEMSET: "the fill",
    OperationKind.PREFETCH: "the prefetch",
    OperationKind.STREAM_MEMORY_OP: "the stream memory operation",
    OperationKind.GRAPH_LAUNCH: "the graph launch",
}
"""work of the device"""

NODES = (
    ("Memcpy", "the copy"),
    ("Memset", "the fill"),
    ("Free", "the free"),
    ("Alloc", "the allocation"),
    ("HostNode", "the host function"),
    ("HostFunc", "the host function"),
)
"""parts of the names of calls that make graph nodes, captured or not, and what the node does"""

PLAIN = {
    OperationKind.ALLOC: "the allocation",
    OperationKind.FREE: "the free",
    OperationKind.DEVICE_RESET: "the reset",
    OperationKind.CONTEXT_DESTROY: "the destruction of the context",
    OperationKind.PROCESS_EXIT: "the exit of the process",
    OperationKind.MAIN_END: "the end of main",
    OperationKind.STREAM_SYNCHRONIZE: "the wait",
    OperationKind.EVENT_SYNCHRONIZE: "the wait",
    OperationKind.CONTEXT_SYNCHRONIZE: "the wait",
    OperationKind.STREAM_WAIT_EVENT: "the wait",
    OperationKind.STREAM_DESTROY: "the destruction of the stream",
    OperationKind.EVENT_DESTROY: "the destruction of the event",
    OperationKind.FORK: "the fork",
    OperationKind.CAPTURE_BEGIN: "the begin of the capture",
    OperationKind.CAPTURE_END: "the end of the capture",
    OperationKind.GRAPH_INSTANTIATE: "the instantiation",
    OperationKind.GRAPH_UPDATE: "the update of the graph",
    OperationKind.GRAPH_NODE_UPDATE: "the update of the node",
    OperationKind.GRAPH_CLONE: "the clone of the graph",
    OperationKind.GRAPH_TRIM: "the trim",
    OperationKind.HANDLE_DESTROY: "the destruction",
    OperationKind.HANDLE_CREATE: "the creation",
    OperationKind.LAUNCH: "a kernel",
    OperationKind.COPY: "the copy",
    OperationKind.MEMSET: "the fill",
}
"""operations whose call has no name"""

MADE_BY = {
    MemoryKind.REGISTERED: "registered",
    MemoryKind.MAPPED: "mapped",
    MemoryKind.CL_MAPPED: "mapped",
    MemoryKind.CL_BUFFER: "made",
    MemoryKind.IPC: "opened",
    MemoryKind.POOL_IMPORT: "imported",
    MemoryKind.POOL_BLOCK: "handed out",
}
"""memory that was not allocated: what it was"""

MADE_HERE = {
    MemoryKind.STREAM_ORDERED: "allocated here, stream-ordered",
    MemoryKind.MANAGED: "allocated here, managed memory",
    MemoryKind.PINNED: "allocated here, pinned host memory",
    MemoryKind.REGISTERED: "registered here",
    MemoryKind.HOST_HEAP: "allocated here, pageable host memory",
    MemoryKind.HOST_STACK: "declared here, pageable host memory",
    MemoryKind.HOST_STATIC: "declared here, pageable host memory",
    MemoryKind.MAPPED: "mapped here",
    MemoryKind.CL_MAPPED: "mapped here, for the host",
    MemoryKind.CL_BUFFER: "made here",
    MemoryKind.SVM: "allocated here, shared with the host",
    MemoryKind.IPC: "opened here, another process's memory",
    MemoryKind.POOL_IMPORT: "imported here",
    MemoryKind.GRAPH: "allocated here, by a node of the graph",
    MemoryKind.POOL_BLOCK: "handed out here, by a pool",
}
"""memory: what is said of the line that made it"""
