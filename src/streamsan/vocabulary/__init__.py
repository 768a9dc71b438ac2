"""Generated from src/streamsan/vocabulary/vocabulary.toml by `python -m streamsan.generate`. Do not edit."""

from enum import IntEnum


class OperationKind(IntEnum):
    """What one operation does to memory or to order. The byte `kind` of a slot."""

    THREAD_START = 1
    """a host thread becomes known; thread table says its process and name"""
    HOST_RELEASE = 2
    """publishes all that the thread has seen under sync key `object`; detail: EdgeClass"""
    HOST_ACQUIRE = 3
    """joins what was released under sync key `object`; detail: EdgeClass"""
    FORK = 4
    """the process forked; `object` is the child's process index; the child's thread starts with the parent's history"""
    MAIN_BEGIN = 5
    """main() starts in this process; CUDA calls before it are outside main"""
    MAIN_END = 6
    """main() has returned, or exit() was called"""
    PROCESS_EXIT = 7
    """the process ends; detail: ExitKind"""
    CALL = 8
    """an API call with no effect on memory or order (it initialises CUDA, has a status)"""
    OPAQUE_CALL = 9
    """code nobody can see ran, and may have used, ordered or freed what the references name; a run edge from everything to everything"""
    NOT_UNDERSTOOD = 10
    """the source could not follow something; the site's label says what"""
    MALFORMED_CALL = 11
    """the call has arguments that no published version accepts, or (flags: access mode) that reach past a host buffer; the site's label says what is wrong"""
    CONTEXT_CREATE = 16
    """context `object` exists; `address` is the device ordinal; detail: ContextKind"""
    CONTEXT_CURRENT = 17
    """context `object` is current to the thread from here on"""
    CONTEXT_DESTROY = 18
    """context `object` is destroyed (a created one, or the last release of a primary one)"""
    DEVICE_RESET = 19
    """the primary context `object` is reset: streams, events, plain, pinned and managed memory die"""
    CONTEXT_SYNCHRONIZE = 20
    """the host waits for all work of context `object`"""
    PEER_ENABLE = 21
    """the current context may access memory of context `object`"""
    STREAM_CREATE = 32
    """stream `object` of context `address` (0: of the current one) exists; detail: StreamKind"""
    STREAM_DESTROY = 33
    """stream `object` is destroyed; does not wait (A-04)"""
    STREAM_SYNCHRONIZE = 34
    """the host waits for `stream`"""
    STREAM_QUERY = 35
    """status 0: all work of `stream` is complete, and the host knows it"""
    EVENT_CREATE = 36
    """event `object` exists; detail: EventKind"""
    EVENT_DESTROY = 37
    """event `object` is destroyed; waits already issued still hold (A-05)"""
    EVENT_RECORD = 38
    """event `object` captures `stream`; with `stream` 0 a user event is set: it captures the host thread. A pool that was told of the stream keeps its block at `address` until then"""
    STREAM_WAIT_EVENT = 39
    """`stream` waits for the latest record of event `object`"""
    EVENT_SYNCHRONIZE = 40
    """the host waits for the latest record of event `object`"""
    EVENT_QUERY = 41
    """status 0: the latest record of event `object` is complete, and the host knows it; detail: EdgeClass, 0: CONTRACT"""
    EVENT_ELAPSED = 42
    """reads the time between events `object` and `address`"""
    HANDLE_USE = 43
    """any other use of handle `object`; detail: HandleKind"""
    HANDLE_CREATE = 44
    """the pool, graph or other handle `object` exists; of a texture or surface object `address` is the memory that it was made of, and `size` how many bytes that has (bits 0 to 55; 0: not known) and a texel of it (from bit 56 on; 0: not known); detail: HandleKind"""
    HANDLE_DESTROY = 45
    """the pool, graph or other handle `object` is destroyed; memory of a pool outlives it (A-07); detail: HandleKind"""
    ALLOC = 48
    """memory [address, address+size) exists; detail: MemoryKind; on `stream` when stream-ordered; of CL_MAPPED a second reference is the mapped region, with the host's mode"""
    FREE = 49
    """memory at `address` is released; detail: FreeClass; on `stream` when stream-ordered; of CL_RELEASE `size` is the sync key of the body that is called when the memory is gone, 0: none"""
    POINTER_LOST = 50
    """the last pointer to the live allocation at `address` is gone; detail: LostKind"""
    HOST_ACCESS = 51
    """the host thread itself reads or writes memory; flags: access mode"""
    ALLOC_ATTRIBUTE = 52
    """a pointer was inspected or advised; it must be valid; no access"""
    HOST_CLOCK = 53
    """the host thread reads a clock: work it waited for before is meant to be complete"""
    BLOCK_STREAM = 54
    """a pool was told that what was issued to `stream` until now uses its block at `address`; no access of its own"""
    LAUNCH = 64
    """a kernel runs on `stream`; the site's label is its name; references with modes; detail: WaitClass"""
    COPY = 65
    """a copy on `stream`; references: destination (write), then source (read); detail: WaitClass"""
    MEMSET = 66
    """a fill on `stream`; detail: WaitClass"""
    HOST_FUNCTION = 67
    """a host function runs on `stream`; `object` is the sync key under which its body ran, 0 if unseen"""
    PREFETCH = 68
    """a migration or prefetch on `stream`"""
    STREAM_MEMORY_OP = 69
    """wait or write of a value in memory on `stream`; detail: ValueOperation, and where that names one, `size` is the value and `address` is exact"""
    LAUNCH_ACCESSES = 70
    """what the LAUNCH of sequence `object` touched, as it was seen on the device: its references, all in continuation slots, take the place of the launch's own; detail: SeenAccesses"""
    QUEUE_MARKER = 71
    """an empty command on `stream`, an OpenCL queue: what it waits for, and who waits for it, says detail: MarkerKind"""
    EVENT_CALLBACK = 72
    """a body runs under sync key `address`, when the latest record of event `object` is complete or earlier; nothing waits for the body; detail: CallbackTime"""
    DEVICE_TIME = 73
    """the work of the operation of sequence `object` (a LAUNCH, COPY, MEMSET, GRAPH_LAUNCH) ran on the device from `time` on, for `size` ns; several of one operation: parts of it; `address`: how much of the device it can fill, in thousandths, 0: not known; detail: DeviceEngine"""
    CAPTURE_BEGIN = 80
    """`stream` begins to capture as capture `object`: what is issued to it is not executed; detail: CaptureMode"""
    CAPTURE_END = 81
    """capture `object`, begun on `stream`, ends and gives graph `address`"""
    GRAPH_INSTANTIATE = 82
    """executable graph `object` exists, made from graph `address`; its body, `size` GRAPH_NODE and GRAPH_EDGE, follows; references of one that failed: memory that is gone, and that its copies and fills name; detail: GraphExecFlag"""
    GRAPH_NODE = 83
    """node `object` (from 1) of the body of executable graph `stream`; `address`: the event of an event node, the sync key of a host node; `size`: a kernel's launch shape; `time`: no time, but the latest operation's sequence when the node was given its references, 0: with the body; references are what it uses, allocates or frees; detail: NodeKind"""
    GRAPH_EDGE = 84
    """in the body of executable graph `stream`, node `object` is before node `address`"""
    GRAPH_UPDATE = 85
    """executable graph `object` takes the body of graph `address`: `size` GRAPH_NODE and GRAPH_EDGE that follow"""
    GRAPH_NODE_UPDATE = 86
    """node `address` of executable graph `object` uses these references instead from its next launch on; `size`: a kernel's launch shape; `stream`: the operation since which it has these addresses, 0: this one (a child graph that is older); detail: NodeKind"""
    GRAPH_LAUNCH = 87
    """executable graph `object` runs on `stream`; launches of one executable graph are ordered among themselves"""
    GRAPH_CLONE = 88
    """graph `object` is a copy of graph `address`"""
    GRAPH_TRIM = 89
    """memory of graphs that is not in use goes back from device `address`"""
    NODE_ACCESSES = 90
    """what node `address` of the executable graph touched in the GRAPH_LAUNCH of sequence `object`, as it was seen on the device: its references, all in continuation slots; `address` 0: all nodes touched what was told of the launch of sequence `size`; `stream` is 0 in a file: readers that bring it before its launch name the executable graph there; detail: SeenAccesses"""
    REFERENCES = 240
    """continuation slot: two further references of the slot before it"""
    TEXT = 241
    """continuation slot: 56 bytes of text that belong to the slot before it"""
    ROWS = 242
    """continuation slot: which bytes of a reference of the slot before it are touched: rows, and slices of rows"""


class MemoryKind(IntEnum):
    """The kind of an allocation. The byte `detail` of an ALLOC slot."""

    UNKNOWN = 0
    """came from code nobody can see; any kind"""
    PLAIN = 1
    """cudaMalloc, cuMemAlloc, pitched, 3D"""
    STREAM_ORDERED = 2
    """cudaMallocAsync, from a pool"""
    MANAGED = 3
    """cudaMallocManaged"""
    PINNED = 4
    """cudaMallocHost, cudaHostAlloc"""
    REGISTERED = 5
    """host memory under cudaHostRegister"""
    HOST_HEAP = 6
    """malloc, new, std::vector: pageable host memory"""
    HOST_STACK = 7
    """a local array or variable: pageable host memory"""
    HOST_STATIC = 8
    """a global: pageable host memory"""
    MAPPED = 9
    """VMM: cuMemMap"""
    IPC = 10
    """opened with cudaIpcOpenMemHandle"""
    POOL_BLOCK = 11
    """a sub-allocation of a framework's pool"""
    GRAPH = 12
    """an allocation node's memory, announced when the node is made: it is alive only from a launch to its free"""
    POOL_IMPORT = 13
    """cudaMemPoolImportPointer"""
    SVM = 14
    """OpenCL shared virtual memory, and unified shared memory"""
    CL_BUFFER = 15
    """an OpenCL memory object: a buffer, an image, a pipe"""
    DEVICE_SYMBOL = 16
    """a __device__, __constant__ or __managed__ variable: lives as long as its context"""
    ARRAY = 17
    """cudaMallocArray and relatives: opaque layout, freed by a family of its own"""
    CL_MAPPED = 18
    """a pointer to a region of an OpenCL memory object that is mapped for the host: alive from its map command to its unmap command"""


class FreeClass(IntEnum):
    """Which family of free was called. The byte `detail` of a FREE slot."""

    DEVICE = 1
    """cudaFree, cuMemFree"""
    ASYNC = 2
    """cudaFreeAsync, cuMemFreeAsync: ordered in `stream`"""
    PINNED = 3
    """cudaFreeHost, cuMemFreeHost"""
    UNREGISTER = 4
    """cudaHostUnregister"""
    UNMAP = 5
    """cuMemUnmap"""
    IPC_CLOSE = 6
    """cudaIpcCloseMemHandle"""
    HOST_HEAP = 7
    """free, delete, a container's destructor"""
    HOST_SCOPE = 8
    """a local variable's scope ends"""
    ARRAY = 9
    """cudaFreeArray and relatives"""
    POOL_BLOCK = 10
    """a framework's pool took the block back"""
    GRAPH_NODE = 11
    """a free node came into a graph (a captured cudaFreeAsync, cudaGraphAddMemFreeNode): nothing is freed before a launch"""
    CL_RELEASE = 12
    """the last release of an OpenCL memory object: it goes when the commands that were enqueued before are complete"""
    CL_SVM = 13
    """clSVMFree, clMemFreeINTEL: does not wait"""
    CL_SVM_BLOCKING = 14
    """clMemBlockingFreeINTEL: waits for all uses"""
    CL_UNMAP = 15
    """clEnqueueUnmapMemObject, clEnqueueSVMUnmap: the pointer is not the host's any more, from the call on; on `stream`"""


class WaitClass(IntEnum):
    """What the host call itself waits for. The byte `detail` of LAUNCH, COPY, MEMSET, PREFETCH."""

    NONE = 0
    """returns at once: no host edge"""
    BEFORE = 1
    """the host waits for the stream's earlier work before this operation; the operation itself may still run (pageable host-to-device copy: staged)"""
    COMPLETE = 2
    """the operation is complete when the call returns"""
    MAYBE_COMPLETE = 3
    """may be complete on return: never rely on it, never call it wrong for pageable host memory (async pageable copies)"""
    OBSERVED_COMPLETE = 6
    """complete when the call returns as measured, not as promised: what rests on it is an observed order (asynchronous copy of device memory to pageable host memory, L-10). The write to pageable memory itself is as for MAYBE_COMPLETE"""
    BETWEEN_CONTEXTS = 7
    """of a copy that names no stream: returns at once, and where memory of it is of another context than the current one, it comes behind all earlier work of each of these contexts, and before all later work there"""
    PROGRAMMATIC = 4
    """of a launch: returns at once, and the kernel may begin before the one before it on the stream has ended (programmatic dependence), but waits for it before it uses memory, or nobody knows whether it does"""
    AT_ONCE = 5
    """of a launch: programmatic as well, and what the kernel does first does not wait for the one before it: uses of memory by references without BEHIND, or the trigger that lets the next kernel begin"""


class SeenAccesses(IntEnum):
    """How much of what a kernel touched was seen. The byte `detail` of a LAUNCH_ACCESSES and of a NODE_ACCESSES."""

    ALL = 1
    """all: memory that no reference names was not touched"""
    SOME = 2
    """not all: what the launch's own references name and these do not may have been touched too"""
    LEARNED = 3
    """this launch was not looked at: earlier ones of the same kernel with the same arguments, but for addresses, touched this beside their own references; taken as ALL"""


class DeviceEngine(IntEnum):
    """What of the device did the work. Work of one copy engine is done one after the other. The byte `detail` of a DEVICE_TIME."""

    COMPUTE = 1
    """the multiprocessors: kernels, graphs, fills, copies within a device"""
    COPY_IN = 2
    """a copy engine, from the host to the device"""
    COPY_OUT = 3
    """a copy engine, from the device to the host"""
    COPY_PEER = 4
    """a copy engine, from device to device"""


class ValueOperation(IntEnum):
    """What a STREAM_MEMORY_OP does with the word at its address. The byte `detail`; with 16 the word has 64 bits."""

    UNKNOWN = 0
    """not known, or several"""
    WRITE = 1
    """writes the value"""
    WAIT_GEQ = 2
    """waits until the word is the value or after it, cyclically: the signed difference is not negative"""
    WAIT_EQ = 3
    """waits until the word is the value"""
    WAIT_AND = 4
    """waits until the word has a bit of the value"""
    WAIT_NOR = 5
    """waits until a bit is set neither in the word nor in the value"""
    WRITE_64 = 17
    """the same of a word of 64 bits"""
    WAIT_GEQ_64 = 18
    """..."""
    WAIT_EQ_64 = 19
    """..."""
    WAIT_AND_64 = 20
    """..."""
    WAIT_NOR_64 = 21
    """..."""


class StreamKind(IntEnum):
    """The byte `detail` of STREAM_CREATE."""

    BLOCKING = 1
    """cudaStreamCreate: ordered against the legacy default stream"""
    NON_BLOCKING = 2
    """cudaStreamNonBlocking: no order with the legacy default stream"""
    LEGACY = 3
    """the legacy default stream of a context"""
    PER_THREAD = 4
    """the per-thread default stream: a blocking stream"""
    UNKNOWN = 5
    """came from code nobody can see: may be any stream, and equal to another unknown one"""
    OUT_OF_ORDER = 6
    """an OpenCL queue whose commands wait for their wait lists and for barriers only: each is a branch of its own. A STREAM_WAIT_EVENT is part of the wait list of the thread's next command there, an EVENT_RECORD captures the thread's latest command there"""


class MarkerKind(IntEnum):
    """What an empty command of an OpenCL queue waits for, and whether later commands of the queue wait for it. The byte `detail` of QUEUE_MARKER."""

    WAIT_LIST = 1
    """a marker: waits for its wait list"""
    ALL_BEFORE = 2
    """a marker: waits for all commands before it on the queue"""
    BARRIER_WAIT_LIST = 3
    """a barrier: waits for its wait list; all later commands of the queue wait for it"""
    BARRIER_ALL = 4
    """a barrier: waits for all commands before it on the queue; all later ones wait for it"""


class EventKind(IntEnum):
    """Who makes an event complete. The byte `detail` of EVENT_CREATE."""

    COMMAND = 0
    """the work that it is recorded behind"""
    USER = 1
    """the host: an OpenCL user event. Until it is set what waits for it does not run"""


class ContextKind(IntEnum):
    """The byte `detail` of CONTEXT_CREATE."""

    PRIMARY = 1
    """the device's primary context"""
    CREATED = 2
    """made by cuCtxCreate"""
    CL = 3
    """an OpenCL context: what was made in it outlives its last release"""


class HandleKind(IntEnum):
    """What a HANDLE_USE, HANDLE_CREATE or HANDLE_DESTROY names."""

    STREAM = 1
    """a stream"""
    EVENT = 2
    """an event"""
    CONTEXT = 3
    """a context"""
    POOL = 4
    """a memory pool"""
    GRAPH = 5
    """a graph"""
    GRAPH_EXEC = 6
    """an executable graph"""
    KERNEL = 7
    """an OpenCL kernel object"""
    PROGRAM = 8
    """an OpenCL program object"""
    SAMPLER = 9
    """an OpenCL sampler"""
    SUB_BUFFER = 10
    """an OpenCL buffer made of a region of another one"""
    COMMAND_BUFFER = 11
    """an OpenCL command buffer"""
    TEXTURE = 12
    """a texture object: a number that kernels are given; each context counts its own"""
    SURFACE = 13
    """a surface object: the same"""


class EdgeClass(IntEnum):
    """How strong an edge is."""

    CONTRACT = 1
    """promised by the documentation"""
    RUN = 2
    """seen in this recording only, or assumed of code nobody can see: silences a finding, never makes one"""
    OBSERVED = 3
    """the driver does it, the documentation does not promise it"""


class ExitKind(IntEnum):
    """The byte `detail` of PROCESS_EXIT."""

    NORMAL = 1
    """main returned or exit()"""
    ABORTED = 2
    """abort, _exit, a signal"""
    CUT = 3
    """the recording ends here; what followed is not known"""


class LostKind(IntEnum):
    """The byte `detail` of POINTER_LOST."""

    ITERATION = 1
    """an iteration of a loop dropped it"""
    SCOPE = 2
    """the scope that held it ended, outside any loop"""


class CaptureMode(IntEnum):
    """Which calls a capture forbids. The byte `detail` of CAPTURE_BEGIN."""

    GLOBAL = 1
    """potentially unsafe calls are forbidden to every thread"""
    THREAD_LOCAL = 2
    """... to the thread that captures"""
    RELAXED = 3
    """... to nobody"""


class GraphExecFlag(IntEnum):
    """Bits of the byte `detail` of GRAPH_INSTANTIATE."""

    AUTO_FREE = 1
    """a launch first frees what the last one left allocated"""
    UPLOAD = 2
    """uploaded at once"""
    DEVICE = 4
    """can be launched from the device"""


class NodeKind(IntEnum):
    """What a node of a graph does. The byte `detail` of GRAPH_NODE. Child graphs are flattened; nodes of a conditional body that a launch may leave out carry CONDITIONAL."""

    EMPTY = 1
    """orders only"""
    KERNEL = 2
    """a kernel"""
    COPY = 3
    """a copy; references: destination, then source"""
    MEMSET = 4
    """a fill"""
    HOST = 5
    """a host function"""
    EVENT_RECORD = 6
    """records event `address`"""
    EVENT_WAIT = 7
    """waits for event `address`"""
    ALLOC = 8
    """allocates the reference's memory"""
    FREE = 9
    """frees the reference's memory"""
    STREAM_MEMORY_OP = 10
    """waits for or writes values in memory"""
    OPAQUE = 11
    """what it does is not known (external semaphores, ...)"""


class CallbackTime(IntEnum):
    """When the body of an EVENT_CALLBACK is called."""

    COMPLETE = 0
    """when the command is complete: all that it has done is before the body"""
    EARLIER = 1
    """when it is submitted or begins: only what the host had done before is"""


class AccessMode(IntEnum):
    """How memory is used. Bits 0 and 1 of `flags`; the byte `mode` of a further reference."""

    OPAQUE = 0
    """not known: may read and write"""
    READ = 1
    """reads"""
    WRITE = 2
    """writes"""
    READ_WRITE = 3
    """reads and writes"""


class SlotFlag(IntEnum):
    """The other bits of `flags` of a slot."""

    ENTER = 4
    """the call was entered; no exit was recorded (a hang, a kill)"""
    ASSUMED = 8
    """rests on code or values nobody can see: the object came from an unknown caller"""
    CONDITIONAL = 16
    """issued under a branch that could not be decided"""
    OUTSIDE = 32
    """issued outside main: static constructor, destructor, exit handler"""
    TOUCHES = 64
    """of a reference: it surely touches the first byte (a kernel whose body was read), though its extent is not known"""
    BEHIND = 4
    """of a further reference of an AT_ONCE launch: it is used only after the kernel has waited for the one before it"""
    HOST_SIDE = 32
    """of a further reference of a copy: host memory of which the trace knows nothing else; the copy uses it until it is complete"""
    ATOMIC = 128
    """of a kernel's reference: all of its accesses are atomic; of unknown mode (OPAQUE) it is no use of its own, but says that the kernel polls the word there. Of a HOST_ACCESS that reads: it decides whether a loop goes on, and may be repeated until a kernel writes there"""
    STRIDED = 128
    """of a copy's or a fill's reference: its rows leave gaps, not every byte of the range is touched; the first is. Which are says a ROWS slot, where that is known"""


class FactVariant(IntEnum):
    """What sort of instance of its rule a fact is."""

    NONE = 0
    """the rule has one sort only"""
    AFTER_FREE = 1
    """SS101: ordered after the free"""
    AFTER_ASYNC_FREE = 2
    """SS101: issued after the asynchronous free had been issued"""
    FREE_DEVICE = 3
    """SS102/SS107: a device free"""
    FREE_ASYNC = 4
    """SS102: a stream-ordered free"""
    FREE_PINNED = 5
    """SS107/SS108: a free of pinned memory"""
    FREE_UNREGISTER = 6
    """SS107/SS108: an unregister"""
    UNMAP = 7
    """SS104: unmap"""
    IPC_CLOSE = 8
    """SS104: close of an imported handle"""
    PENDING_WORK = 9
    """SS106: work pending at reset or destroy"""
    PENDING_FREE = 10
    """SS106: only frees pending"""
    OTHER_THREAD = 11
    """SS106: another host thread may be using the device"""
    AT_EXIT = 12
    """SS106: at process exit"""
    HOST_FREE = 13
    """SS108: heap memory freed"""
    HOST_SCOPE_END = 14
    """SS108: a local went out of scope"""
    HOST_WRITE = 15
    """SS108: overwritten by the host"""
    HOST_READ = 16
    """SS108: read by the host before the copy is known to be complete"""
    SAME_POINTER = 17
    """SS201: the same allocation freed twice"""
    RECYCLED = 18
    """SS201: the address now belongs to another allocation (W-03)"""
    INTERIOR = 19
    """SS202: not the start of an allocation"""
    HOST_POINTER = 20
    """SS202: host memory given to a device free"""
    WRONG_FAMILY = 21
    """SS202: a free function of another family"""
    UNKNOWN_ADDRESS = 22
    """SS202: no allocation there"""
    IMPORTED = 23
    """SS202: an imported pointer freed instead of closed"""
    FOREIGN_CREATED = 24
    """SS203: either context is not a primary one"""
    FOREIGN_PRIMARY = 25
    """SS203: both contexts are primary"""
    CHILD_OF_INITIALISED = 26
    """SS204: the parent had initialised CUDA"""
    CHILD_OF_FRESH = 27
    """SS204: the parent had not"""
    STALE_STREAM = 28
    """SS205"""
    STALE_EVENT = 29
    """SS205"""
    STALE_CONTEXT = 30
    """SS205"""
    STALE_OTHER = 31
    """SS205"""
    BEFORE_MAIN = 32
    """SS207"""
    AFTER_MAIN = 33
    """SS207"""
    LOST_ITERATION = 34
    """SS305"""
    LOST_SCOPE = 35
    """SS401: the last pointer went out of scope"""
    LEAK_AT_EXIT = 36
    """SS401"""
    LEAK_AT_RESET = 37
    """SS401"""
    DOMINATED = 38
    """SS504: everything awaited already happens before the waiter"""
    NO_CONSUMER = 39
    """SS504: nothing later needs it"""
    IMPLICIT_COPY = 40
    """SS107: rests on an undocumented wait of a copy"""
    CONFLICT_WRITE_WRITE = 41
    """SS109"""
    CONFLICT_READ_WRITE = 42
    """SS109"""
    CAPTURE_WAIT = 43
    """SS302: a wait for, or a query of, what is being captured"""
    CAPTURE_LEGACY = 44
    """SS302: the legacy default stream used while a blocking stream captures"""
    CAPTURE_UNSAFE = 45
    """SS302: a call that this capture's mode forbids"""
    CAPTURE_STRUCTURE = 46
    """SS302: captures merged, not joined, ended on another stream or thread"""
    STALE_FREED = 47
    """SS303: memory that a graph bakes in was freed"""
    STALE_RECYCLED = 48
    """SS303: ... and its address belongs to another allocation now"""
    STALE_RESET = 49
    """SS303: ... or its context is gone"""
    GRAPH_USE = 50
    """SS304: a graph's own allocation used outside without order after the launch"""
    GRAPH_FREE = 51
    """SS304: a graph's own allocation freed outside without order after the launch"""
    GRAPH_INSIDE = 52
    """SS304: inside the graph, a use not ordered between allocation and free"""
    GRAPH_NOT_ALIVE = 53
    """SS304: a graph's own allocation touched before any launch or after its free in the graph"""
    SECOND_EXEC = 54
    """SS306: a second executable graph of a graph with memory nodes"""
    CLONED = 55
    """SS306: a clone of a graph with memory nodes"""
    OUTSIDE_FREE = 56
    """SS306: memory from outside freed in a graph"""
    AS_CHILD = 57
    """SS306: a graph with memory nodes as a child, its nodes removed, or its memory freed by two graphs"""
    SURVIVES_GRAPH = 58
    """SS402: alive after its graph was destroyed and memory trimmed"""
    NO_FREE = 59
    """SS305: a graph allocates, and nothing anywhere frees it"""
    TOO_WIDE = 60
    """SS503: a narrower wait would do"""
    CHURN = 61
    """SS502: allocated and freed again and again at the same places"""
    UNCHECKED = 62
    """SS601: a call failed, and the program went on"""
    CONFLICT_OVERTAKES = 63
    """SS109: a kernel that may begin before the kernel before it on the stream has ended, and does not wait"""
    NOT_COMPARED = 64
    """SS603: not all nodes of a graph were compared with each other"""
    FREE_SVM = 65
    """SS102: a free of shared virtual memory, which does not wait"""
    MAPPED_USE = 66
    """SS108: a command uses a region that is mapped for the host"""
    STATUS_QUERY = 67
    """SS107: rests on a query of a status that is no synchronisation point"""
    UNRELEASED = 68
    """SS401: an object of OpenCL that is no memory"""
    TOLD_NEEDLESSLY = 69
    """SS504: a pool was told of a stream whose work is already over for whoever gets the block next"""
    STALE_GIVEN_AGAIN = 70
    """SS303: ... and its address belongs to memory now that another node of the graph was given since"""


class CallClass(IntEnum):
    """detail of CALL."""

    PLAIN = 0
    """a call"""
    UNREAD = 1
    """not a call: that nobody looks at the status of the earlier call of this name and site, which failed"""
    EXPLAINED = 2
    """not a call: the driver's own words on the failed call before it of this thread; they are in TEXT continuations"""
    BLOCKING = 3
    """a call that may wait for a long time, though for no work: building a program"""


class RelatedRole(IntEnum):
    """What a related operation is to the finding."""

    ALLOC = 1
    """the allocation"""
    USE = 2
    """a use"""
    FREE = 3
    """a free"""
    SYNC = 4
    """a wait, or the point that would order"""
    RESET = 5
    """a reset, context destroy or exit"""
    RECORD = 6
    """the event record; where a pool was told of a stream"""
    DESTROY = 7
    """where the handle died"""
    CREATE = 8
    """where the handle was made"""
    FORK = 9
    """the fork"""
    OTHER = 10
    """another operation involved"""
    OWNER = 11
    """the allocation that owns the address now"""


class RuleCode(IntEnum):
    """The number in a rule's code: 102 for SS102. What the rule is, its page and `streamsan.rules` say."""

    USE_AFTER_FREE = 101
    """SS101"""
    USE_RACES_FREE = 102
    """SS102"""
    USE_BEFORE_ALLOC = 103
    """SS103"""
    UNMAPPED_IN_USE = 104
    """SS104"""
    REUSE_RACES_USE = 105
    """SS105"""
    RESET_RACES_WORK = 106
    """SS106"""
    RELIES_ON_IMPLICIT_SYNC = 107
    """SS107"""
    HOST_BUFFER_IN_FLIGHT = 108
    """SS108"""
    UNORDERED_CONFLICT = 109
    """SS109"""
    DOUBLE_FREE = 201
    """SS201"""
    INVALID_FREE = 202
    """SS202"""
    FOREIGN_CONTEXT_FREE = 203
    """SS203"""
    USE_AFTER_FORK = 204
    """SS204"""
    STALE_HANDLE = 205
    """SS205"""
    ORDER_DROPPING_FREE = 206
    """SS206"""
    CALL_OUTSIDE_MAIN = 207
    """SS207"""
    RELEASE_UNDER_USER_EVENT = 208
    """SS208"""
    BLOCKING_CALL_IN_CALLBACK = 209
    """SS209"""
    GRAPH_RELAUNCH_UNFREED = 301
    """SS301"""
    ILLEGAL_DURING_CAPTURE = 302
    """SS302"""
    GRAPH_STALE_POINTER = 303
    """SS303"""
    GRAPH_MEMORY_UNORDERED = 304
    """SS304"""
    UNBALANCED_ALLOCATION = 305
    """SS305"""
    GRAPH_MEMORY_RESTRICTION = 306
    """SS306"""
    LEAK = 401
    """SS401"""
    GRAPH_MEMORY_LEAK = 402
    """SS402"""
    BLOCKING_FREE = 501
    """SS501"""
    ALLOCATION_CHURN = 502
    """SS502"""
    WAIT_TOO_WIDE = 503
    """SS503"""
    REDUNDANT_SYNC = 504
    """SS504"""
    UNCHECKED_FAILURE = 601
    """SS601"""
    MALFORMED_CALL = 602
    """SS602"""
    NOT_UNDERSTOOD = 603
    """SS603"""
