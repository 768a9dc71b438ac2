"""Two devices: access, copies, frees on one while the other writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

peer_case = Family("peer", devices=2, fresh=True)


def _on(lab: Lab, device: int) -> None:
    lab.ok(lab.rt.cudaSetDevice(device))
    lab.ok(lab.rt.cudaFree(0))


def _peer_memory(lab: Lab, *, enabled: bool = True) -> Any:
    """Return memory of device 1; device 0 is current, and may access it if `enabled`."""
    rt = lab.rt
    _on(lab, 1)
    memory = lab.plain(byte=1)
    lab.kernel("spin")
    _on(lab, 0)
    if enabled:
        rt.cudaDeviceEnablePeerAccess(1, 0)
        rt.cudaGetLastError()
    return memory


def _while_device_1_works(lab: Lab, call: Callable[[], Sequence[Any]]) -> Observations:
    """Make a call with device 0 current while a kernel of device 1 is pending."""
    _on(lab, 1)
    pending = lab.busy(lab.stream())
    lab.ok(lab.rt.cudaSetDevice(0))
    return lab.waited(pending, call)


@peer_case("P-01", "peers")
def statuses(lab: Lab) -> Observations:
    """Peer access: may it, enabled, enabled twice, of itself, disabled, disabled twice."""
    rt = lab.rt
    _on(lab, 1)
    _on(lab, 0)
    return {
        "can": int(lab.ok(rt.cudaDeviceCanAccessPeer(0, 1))),
        "can itself": int(lab.ok(rt.cudaDeviceCanAccessPeer(0, 0))),
        "enable": lab.status(rt.cudaDeviceEnablePeerAccess(1, 0)),
        "enable again": lab.status(rt.cudaDeviceEnablePeerAccess(1, 0)),
        "enable itself": lab.status(rt.cudaDeviceEnablePeerAccess(0, 0)),
        "disable": lab.status(rt.cudaDeviceDisablePeerAccess(1)),
        "disable again": lab.status(rt.cudaDeviceDisablePeerAccess(1)),
        "with flags": lab.status(rt.cudaDeviceEnablePeerAccess(1, 1)),
    }


@peer_case("P-03", "peers", "F-01", "implicit-free", timed=True)
def free_under_writer(lab: Lab) -> Observations:
    """cudaFree of device 1's memory while a kernel of device 0 is about to write to it."""
    memory = _peer_memory(lab)
    stream = lab.stream()
    pending = lab.busy(stream)
    lab.ok(lab.write_words(memory, 5, stream))
    observed = lab.waited(pending, lambda: lab.rt.cudaFree(memory))
    observed["writer"] = lab.status(lab.rt.cudaStreamSynchronize(stream))
    return observed


@peer_case("P-04", "peers", "F-15", "implicit-free", timed=True)
def free_under_other_device(lab: Lab) -> Observations:
    """cudaFree of device 1's memory while an unrelated kernel of device 0 runs, device 0 current."""
    memory = _peer_memory(lab, enabled=False)
    pending = lab.busy(lab.stream())
    return lab.waited(pending, lambda: lab.rt.cudaFree(memory))


@peer_case("P-04", "peers", "F-15", "implicit-free", timed=True)
def free_own_device_busy(lab: Lab) -> Observations:
    """cudaFree of device 1's memory while a kernel of device 1 runs, device 0 current."""
    memory = _peer_memory(lab, enabled=False)
    return _while_device_1_works(lab, lambda: lab.rt.cudaFree(memory))


@peer_case("P-05", "peers", "F-11", "implicit-free", timed=True)
def pinned_free(lab: Lab) -> Observations:
    """cudaFreeHost while a kernel of the other device runs."""
    _peer_memory(lab, enabled=False)
    host = lab.pinned()
    return _while_device_1_works(lab, lambda: lab.rt.cudaFreeHost(host))


@peer_case("P-05", "peers", "F-10", "implicit-free", timed=True)
def managed_free(lab: Lab) -> Observations:
    """cudaFree of managed memory while a kernel of the other device runs."""
    _peer_memory(lab, enabled=False)
    memory = lab.managed()
    return _while_device_1_works(lab, lambda: lab.rt.cudaFree(memory))


@peer_case("P-02", "peers")
def kernel_without_access(lab: Lab) -> Observations:
    """A kernel of device 0 writes to device 1's memory without peer access."""
    memory = _peer_memory(lab, enabled=False)
    stream = lab.stream()
    return {
        "launch": lab.status(lab.write_words(memory, 5, stream)),
        "wait": lab.status(lab.rt.cudaStreamSynchronize(stream)),
    }


@peer_case("P-02", "peers")
def kernel_with_access(lab: Lab) -> Observations:
    """A kernel of device 0 writes to device 1's memory with peer access."""
    memory = _peer_memory(lab)
    stream = lab.stream()
    lab.ok(lab.write_words(memory, 0x05050505, stream))
    return {"wait": lab.status(lab.rt.cudaStreamSynchronize(stream)), "wrong": lab.wrong(memory, 5)}


@peer_case("P-06", "peers", "copy-return", timed=True)
def copy(lab: Lab) -> Observations:
    """cudaMemcpyPeer, cudaMemcpy and cudaMemcpyPeerAsync between devices while a kernel of the source device runs."""
    rt, far = lab.rt, _peer_memory(lab)
    near, stream = lab.plain(byte=5), lab.stream(blocking=True)
    lab.ok(rt.cudaMemcpyPeer(far, 1, near, 0, SIZE))
    lab.ok(rt.cudaDeviceSynchronize())
    observed: Observations = {}
    for name, call in (
        ("cudaMemcpyPeer", lambda: rt.cudaMemcpyPeer(far, 1, near, 0, SIZE)),
        ("cudaMemcpy", lambda: rt.cudaMemcpy(far, near, SIZE, lab.default)),
        ("cudaMemcpyPeerAsync", lambda: rt.cudaMemcpyPeerAsync(far, 1, near, 0, SIZE, stream)),
    ):
        pending = lab.busy(stream)
        _, observed[name] = lab.timed(pending, call)
        lab.ok(rt.cudaDeviceSynchronize())
    observed["wrong"] = lab.wrong(far, 5)
    return observed


@peer_case("P-06", "peers", "copy-return", timed=True)
def copy_destination_busy(lab: Lab) -> Observations:
    """cudaMemcpyPeer from device 0 to device 1 while a kernel of device 1's blocking stream runs."""
    rt, far = lab.rt, _peer_memory(lab)
    near = lab.plain(byte=5)
    lab.ok(rt.cudaMemcpyPeer(far, 1, near, 0, SIZE))
    _on(lab, 1)
    lab.ok(rt.cudaDeviceSynchronize())
    pending = lab.busy(lab.stream(blocking=True))
    lab.ok(rt.cudaSetDevice(0))
    return lab.waited(pending, lambda: rt.cudaMemcpyPeer(far, 1, near, 0, SIZE))


@peer_case("P-08", "peers", "events", timed=True)
def event_across(lab: Lab) -> Observations:
    """A stream of device 0 waits for an event of device 1; an event of device 0 recorded in a stream of device 1."""
    rt = lab.rt
    _peer_memory(lab, enabled=False)
    own = lab.event()
    _on(lab, 1)
    far = lab.stream()
    pending = lab.busy(far)
    event = lab.event(far)
    lab.ok(rt.cudaSetDevice(0))
    near = lab.stream()
    lab.ok(rt.cudaStreamWaitEvent(near, event, 0))
    _, waited = lab.timed(pending, lambda: rt.cudaStreamSynchronize(near))
    return {"waited": waited, "record elsewhere": lab.status(rt.cudaEventRecord(own, far))}


@peer_case("P-09", "peers", "wrong-handles")
def stream_of_other_device(lab: Lab) -> Observations:
    """A launch of device 0's module and a fill in a stream of device 1."""
    rt = lab.rt
    memory = lab.plain()
    _on(lab, 1)
    far = lab.stream()
    _on(lab, 0)
    lab.kernel("write_words")
    return {
        "launch": lab.status(lab.write_words(memory, 1, far)),
        "fill": lab.status(rt.cudaMemsetAsync(memory, 1, SIZE, far)),
        "synchronize": lab.status(rt.cudaStreamSynchronize(far)),
    }


@peer_case("P-10", "peers")
def pool_access(lab: Lab) -> Observations:
    """Memory of device 0's pool written by a kernel of device 1: without access, then with cudaMemPoolSetAccess."""
    rt = lab.rt
    pool = lab.pool()
    memory = lab.from_pool(pool, 0)
    lab.ok(rt.cudaDeviceSynchronize())
    access = rt.cudaMemAccessDesc()
    access.location.type = rt.cudaMemLocationType.cudaMemLocationTypeDevice
    access.location.id = 1
    access.flags = rt.cudaMemAccessFlags.cudaMemAccessFlagsProtReadWrite
    allowed = lab.status(rt.cudaMemPoolSetAccess(pool, [access], 1))
    _on(lab, 1)
    stream = lab.stream()
    launched = lab.status(lab.write_words(memory, 0x05050505, stream))
    return {"access": allowed, "launch": launched, "wait": lab.status(rt.cudaStreamSynchronize(stream))}


def _on_graph_memory(lab: Lab, *, enabled: bool) -> Observations:
    rt = lab.rt
    stream = lab.stream()
    graph, memory = lab.memory_graph(stream)
    lab.ok(rt.cudaGraphLaunch(lab.instantiate(graph), stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    _on(lab, 1)
    lab.kernel("write_words")
    far, near = lab.stream(), lab.plain(byte=3)
    observed: Observations = {}
    if enabled:
        observed["enable"] = lab.status(rt.cudaDeviceEnablePeerAccess(0, 0))
    copy = rt.cudaMemcpyKind.cudaMemcpyDefault
    observed["copy"] = lab.status(rt.cudaMemcpyAsync(memory, near, SIZE, copy, far))
    observed["copy: wait"] = lab.status(rt.cudaStreamSynchronize(far))
    observed["copy out"] = lab.status(rt.cudaMemcpyAsync(near, memory, SIZE, copy, far))
    observed["copy out: wait"] = lab.status(rt.cudaStreamSynchronize(far))
    observed["fill"] = lab.status(rt.cudaMemsetAsync(memory, 2, SIZE, far))
    observed["fill: wait"] = lab.status(rt.cudaStreamSynchronize(far))
    observed["kernel"] = lab.status(lab.write_words(memory, 0x05050505, far))
    observed["kernel: wait"] = lab.status(rt.cudaStreamSynchronize(far))
    return observed


@peer_case("P-11", "peers")
def graph_memory(lab: Lab) -> Observations:
    """A copy, a fill and a kernel in a stream of device 1 on graph memory of device 0, without peer access."""
    return _on_graph_memory(lab, enabled=False)


@peer_case("P-11", "peers")
def graph_memory_with_access(lab: Lab) -> Observations:
    """A copy, a fill and a kernel in a stream of device 1 on graph memory of device 0, with peer access."""
    return _on_graph_memory(lab, enabled=True)


@peer_case("P-07", "peers", "R-01", "reset-pending", timed=True)
def reset_of_other(lab: Lab) -> Observations:
    """cudaDeviceReset of device 1 while a kernel of device 0 runs: does it wait."""
    rt = lab.rt
    _peer_memory(lab, enabled=False)
    pending = lab.busy(lab.stream(), 16)
    lab.ok(rt.cudaSetDevice(1))
    return lab.waited(pending, lambda: rt.cudaDeviceReset())


@peer_case("P-07", "peers", timed=True)
def synchronize_other(lab: Lab) -> Observations:
    """cudaDeviceSynchronize with device 1 current while a kernel of device 0 runs."""
    rt = lab.rt
    _peer_memory(lab, enabled=False)
    pending = lab.busy(lab.stream())
    lab.ok(rt.cudaSetDevice(1))
    return lab.waited(pending, lambda: rt.cudaDeviceSynchronize())
