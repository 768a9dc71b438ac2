"""Host functions and the streams behind them."""

from __future__ import annotations

import threading

from conformance.lab import Lab
from conformance.registry import Family, Observations

host_function_case = Family("host-function")


# -- host functions -----------------------------------------------------------------------------------------
@host_function_case("host-functions", timed=True)
def order(lab: Lab) -> Observations:
    """A host function behind a kernel, work behind it: order, thread, return of the call."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain(byte=1)
    done: list[bool] = []
    threads: list[int] = []
    pending = lab.busy(stream)

    def body() -> None:
        done.append(pending.done)
        threads.append(threading.get_ident())

    status, waited = lab.timed(pending, lambda: lab.host_function(stream, body))
    ran_early = bool(done)
    lab.ok(lab.write_words(memory, 0x05050505, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    return {
        "status": status,
        "waited": waited,
        "ran before the wait": ran_early,
        "kernel was done": done == [True],
        "wrong": lab.wrong(memory, 5),
    }


@host_function_case("host-functions")
def calls_cuda(lab: Lab) -> Observations:
    """CUDA calls inside a host function."""
    rt, stream, other = lab.rt, lab.stream(), lab.stream()
    statuses: dict[str, str] = {}

    def body() -> None:
        statuses["cudaStreamQuery"] = lab.status(rt.cudaStreamQuery(other))
        statuses["cudaMalloc"] = lab.status(rt.cudaMalloc(256))
        statuses["cudaGetDevice"] = lab.status(rt.cudaGetDevice())

    lab.ok(lab.host_function(stream, body))
    lab.ok(rt.cudaStreamSynchronize(stream))
    return {**statuses, "afterwards": lab.status(rt.cudaDeviceSynchronize())}


@host_function_case("host-functions", fresh=True)
def blocks_own_stream(lab: Lab) -> Observations:
    """A host function waits for the host: its stream is not ready, another one goes on."""
    rt, stream, other, memory = lab.rt, lab.stream(), lab.stream(), lab.plain(byte=1)
    began, may_end = threading.Event(), threading.Event()

    def body() -> None:
        began.set()
        may_end.wait(2)

    lab.ok(lab.host_function(stream, body))
    lab.ok(lab.write_words(memory, 0x05050505, other))
    began.wait(2)
    own = lab.status(rt.cudaStreamQuery(stream))
    may_end.set()
    lab.ok(rt.cudaStreamSynchronize(other))
    lab.ok(rt.cudaStreamSynchronize(stream))
    return {"its stream": own, "wrong": lab.wrong(memory, 5)}


@host_function_case("host-functions", "A-04", timed=True)
def destroyed_stream(lab: Lab) -> Observations:
    """The stream is destroyed with a host function pending."""
    rt, stream = lab.rt, lab.stream()
    ran: list[int] = []
    pending = lab.busy(stream)
    lab.ok(lab.host_function(stream, lambda: ran.append(1)))
    status, waited = lab.timed(pending, lambda: rt.cudaStreamDestroy(stream))
    early = bool(ran)
    lab.ok(rt.cudaDeviceSynchronize())
    return {"status": status, "waited": waited, "ran early": early, "ran": bool(ran)}
