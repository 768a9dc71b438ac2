"""Stream memory operations."""

from __future__ import annotations

from conformance.lab import Lab
from conformance.registry import Family, Observations

memory_op_case = Family("memory-op")


# -- stream memory operations ---------------------------------------------------------------------------------
@memory_op_case("stream-memory-ops", timed=True)
def write(lab: Lab) -> Observations:
    """cuStreamWriteValue32 behind a kernel: the value before the wait and after it, the call's wait."""
    cu, rt, stream, host = lab.cu, lab.rt, lab.stream(), lab.pinned()
    words = lab.host_bytes(host, 64)
    words[:] = 0
    pending = lab.busy(stream)
    status, waited = lab.timed(pending, lambda: cu.cuStreamWriteValue32(int(stream), int(host), 5, 0))
    before = int(words[0])
    lab.ok(rt.cudaStreamSynchronize(stream))
    return {"status": status, "waited": waited, "before": before, "after": int(words[0])}


@memory_op_case("stream-memory-ops", timed=True)
def wait_for_other_stream(lab: Lab) -> Observations:
    """A stream waits for a value that another stream writes behind a kernel."""
    cu, rt, writing, waiting = lab.cu, lab.rt, lab.stream(), lab.stream()
    flag, memory = lab.plain(4096, byte=0), lab.plain(byte=1)
    pending = lab.busy(writing)
    lab.ok(lab.write_words(memory, 0x05050505, writing))
    lab.ok(cu.cuStreamWriteValue32(int(writing), int(flag), 1, 0))
    lab.ok(cu.cuStreamWaitValue32(int(waiting), int(flag), 1, 1))  # equal
    result = lab.read_later(memory, waiting)
    _, waited = lab.timed(pending, lambda: rt.cudaStreamSynchronize(waiting))
    return {"waited": waited, "wrong": lab.wrong(result, 5)}


@memory_op_case("stream-memory-ops", fresh=True)
def wait_for_host(lab: Lab) -> Observations:
    """A stream waits for a value in pinned memory that another host thread writes."""
    cu, rt, stream, host = lab.cu, lab.rt, lab.stream(), lab.pinned()
    words = lab.host_bytes(host, 64)
    words[:] = 0
    lab.ok(cu.cuStreamWaitValue32(int(stream), int(host), 1, 1))
    before = lab.status(rt.cudaStreamQuery(stream))
    words[0] = 1
    return {"before": before, "wait": lab.status(rt.cudaStreamSynchronize(stream))}


@memory_op_case("stream-memory-ops", "reuse-policies", timed=True)
def no_reuse_order(lab: Lab) -> Observations:
    """An order by stream memory operations only: does the pool give the freed block to the stream that waits."""
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


@memory_op_case("stream-memory-ops", "wrong-handles", fresh=True)
def refused(lab: Lab) -> Observations:
    """cuStreamWriteValue32 to host memory that CUDA does not know, to NULL, to a misaligned address."""
    cu, stream, memory = lab.cu, int(lab.stream()), int(lab.plain())
    return {
        "NULL": lab.status(cu.cuStreamWriteValue32(stream, 0, 1, 0)),
        "misaligned": lab.status(cu.cuStreamWriteValue32(stream, memory + 1, 1, 0)),
        "pageable": lab.status(cu.cuStreamWriteValue32(stream, int(lab.pageable().ctypes.data), 1, 0)),
    }
