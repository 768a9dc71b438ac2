"""Stream memory operations."""

from __future__ import annotations

from conformance.lab import Lab
from conformance.registry import Observations, case


# -- stream memory operations ---------------------------------------------------------------------------------
@case(
    "memory-op/write",
    "cuStreamWriteValue32 behind a kernel: the value before the wait and after it, the call's wait",
    ["stream-memory-ops"],
    timed=True,
)
def write_value(lab: Lab) -> Observations:
    cu, rt, stream, host = lab.cu, lab.rt, lab.stream(), lab.pinned()
    words = lab.host_bytes(host, 64)
    words[:] = 0
    pending = lab.busy(stream)
    status, waited = lab.timed(pending, lambda: cu.cuStreamWriteValue32(int(stream), int(host), 5, 0))
    before = int(words[0])
    lab.ok(rt.cudaStreamSynchronize(stream))
    return {"status": status, "waited": waited, "before": before, "after": int(words[0])}


@case(
    "memory-op/wait-for-other-stream",
    "a stream waits for a value that another stream writes behind a kernel",
    ["stream-memory-ops"],
    timed=True,
)
def wait_value(lab: Lab) -> Observations:
    cu, rt, writing, waiting = lab.cu, lab.rt, lab.stream(), lab.stream()
    flag, memory = lab.plain(4096, byte=0), lab.plain(byte=1)
    pending = lab.busy(writing)
    lab.ok(lab.write_words(memory, 0x05050505, writing))
    lab.ok(cu.cuStreamWriteValue32(int(writing), int(flag), 1, 0))
    lab.ok(cu.cuStreamWaitValue32(int(waiting), int(flag), 1, 1))  # equal
    result = lab.read_later(memory, waiting)
    _, waited = lab.timed(pending, lambda: rt.cudaStreamSynchronize(waiting))
    return {"waited": waited, "wrong": lab.wrong(result, 5)}


@case(
    "memory-op/wait-for-host",
    "a stream waits for a value in pinned memory that another host thread writes",
    ["stream-memory-ops"],
    fresh=True,
)
def wait_for_host(lab: Lab) -> Observations:
    cu, rt, stream, host = lab.cu, lab.rt, lab.stream(), lab.pinned()
    words = lab.host_bytes(host, 64)
    words[:] = 0
    lab.ok(cu.cuStreamWaitValue32(int(stream), int(host), 1, 1))
    before = lab.status(rt.cudaStreamQuery(stream))
    words[0] = 1
    return {"before": before, "wait": lab.status(rt.cudaStreamSynchronize(stream))}


@case(
    "memory-op/no-reuse-order",
    "an order by stream memory operations only: does the pool give the freed block to the stream that waits",
    ["stream-memory-ops", "reuse-policies"],
    timed=True,
)
def memory_op_reuse(lab: Lab) -> Observations:
    cu, rt, freeing, waiting, flag = lab.cu, lab.rt, lab.stream(), lab.stream(), lab.plain(4096, byte=0)
    pool = lab.pool()
    block = lab.from_pool(pool, freeing)
    lab.ok(rt.cudaStreamSynchronize(freeing))
    lab.busy(freeing)
    lab.ok(rt.cudaFreeAsync(block, freeing))
    lab.ok(cu.cuStreamWriteValue32(int(freeing), int(flag), 1, 0))
    lab.ok(cu.cuStreamWaitValue32(int(waiting), int(flag), 1, 1))
    reused = int(lab.from_pool(pool, waiting)) == int(block)
    lab.ok(rt.cudaDeviceSynchronize())
    return {"reused": reused}


@case(
    "memory-op/refused",
    "cuStreamWriteValue32 to host memory that CUDA does not know, to NULL, to a misaligned address",
    ["stream-memory-ops", "wrong-handles"],
    fresh=True,
)
def memory_op_refused(lab: Lab) -> Observations:
    cu, stream, memory = lab.cu, int(lab.stream()), int(lab.plain())
    return {
        "NULL": lab.status(cu.cuStreamWriteValue32(stream, 0, 1, 0)),
        "misaligned": lab.status(cu.cuStreamWriteValue32(stream, memory + 1, 1, 0)),
        "pageable": lab.status(cu.cuStreamWriteValue32(stream, int(lab.pageable().ctypes.data), 1, 0)),
    }
