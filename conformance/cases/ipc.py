"""Memory and events of other processes: imports, frees by the exporter, ends of the exporter."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from conformance.companion import Companion
from conformance.lab import SIZE, Lab
from conformance.registry import Observations, case

INVALID, SUCCESS = "cudaErrorInvalidValue", "cudaSuccess"
_HANDLE = 64


def _content(handle: Any) -> str:
    return ctypes.string_at(handle.getPtr(), _HANDLE).hex()


def _handle(kind: Any, content: str) -> Any:
    handle = kind()
    ctypes.memmove(handle.getPtr(), bytes.fromhex(content), _HANDLE)
    return handle


def _open(lab: Lab, content: str) -> Any:
    return lab.rt.cudaIpcOpenMemHandle(_handle(lab.rt.cudaIpcMemHandle_t, content), 1)


def _exporter(lab: Lab, parent: Companion, *, byte: int = 5) -> Any:
    """Be the exporter: give the handle of 4 MiB; return the memory."""
    lab.start()
    memory = lab.plain(byte=byte)
    parent.send(_content(lab.ok(lab.rt.cudaIpcGetMemHandle(memory))))
    return memory


def _importer(lab: Lab, child: Callable[[Companion], int]) -> tuple[Companion, str]:
    """Start the exporter, and be the importer: return it and what it sends first."""
    companion = lab.fork(child)
    content = companion.receive()
    lab.start()
    return companion, content


def _imported(lab: Lab, child: Callable[[Companion], int]) -> tuple[Companion, Any]:
    """Start the exporter and open its memory: return both."""
    companion, content = _importer(lab, child)
    return companion, lab.ok(_open(lab, content))


@case(
    "ipc/words",
    "imported memory: are the exporter's words there, are the importer's seen",
    ["ipc-lifetime"],
    bare=True,
)
def words(lab: Lab) -> Observations:
    def child(parent: Companion) -> int:
        memory = _exporter(lab, parent)
        parent.receive()
        parent.send(lab.wrong(memory, 6))
        return 0

    companion, memory = _imported(lab, child)
    wrong = lab.wrong(memory, 5)
    lab.filled(memory, 6)
    companion.send("written")
    exporter = companion.receive()
    return {
        "importer reads wrong": wrong,
        "exporter reads wrong": exporter,
        "close": lab.status(lab.rt.cudaIpcCloseMemHandle(memory)),
    }


@case(
    "ipc/wrong-frees",
    "the importer frees, closes, closes again",
    ["W-08", "W-09"],
    bare=True,
    expected={"cudaFree": INVALID, "close": SUCCESS, "second close": INVALID},
)
def wrong_frees(lab: Lab) -> Observations:
    def child(parent: Companion) -> int:
        _exporter(lab, parent)
        parent.receive()
        return 0

    companion, memory = _imported(lab, child)
    rt = lab.rt
    observed: Observations = {
        "cudaFree": lab.status(rt.cudaFree(memory)),
        "cudaFreeAsync": lab.status(rt.cudaFreeAsync(memory, lab.stream())),
        "close": lab.status(rt.cudaIpcCloseMemHandle(memory)),
        "second close": lab.status(rt.cudaIpcCloseMemHandle(memory)),
    }
    companion.send("done")
    return observed


@case(
    "ipc/close-pending",
    "cudaIpcCloseMemHandle while a kernel that does not use the memory, and a fill of it, are pending",
    ["ipc-lifetime", "implicit-free"],
    bare=True,
    timed=True,
)
def close_pending(lab: Lab) -> Observations:
    def child(parent: Companion) -> int:
        _exporter(lab, parent)
        parent.receive()
        return 0

    companion, content = _importer(lab, child)
    rt, stream, memory = lab.rt, lab.stream(), lab.ok(_open(lab, content))
    pending = lab.busy(stream)
    lab.ok(rt.cudaMemsetAsync(memory, 1, SIZE, stream))
    observed = lab.waited(pending, lambda: rt.cudaIpcCloseMemHandle(memory))
    observed["synchronize"] = lab.status(rt.cudaStreamSynchronize(stream))
    companion.send("done")
    return observed


@case(
    "ipc/exporter-frees",
    "the exporter frees while the importer has the memory open: statuses on both sides",
    ["W-09", "ipc-lifetime"],
    bare=True,
    expected={"exporter's free": SUCCESS, "importer's fill": SUCCESS, "close": SUCCESS, "second close": INVALID},
)
def exporter_frees(lab: Lab) -> Observations:
    def child(parent: Companion) -> int:
        memory = _exporter(lab, parent)
        parent.receive()
        parent.send(lab.status(lab.rt.cudaFree(memory)))
        parent.receive()
        return 0

    companion, memory = _imported(lab, child)
    rt = lab.rt
    companion.send("open")
    freed = companion.receive()
    observed: Observations = {
        "exporter's free": freed,
        "importer's fill": lab.status(rt.cudaMemset(memory, 1, SIZE)),
        "wait": lab.status(rt.cudaDeviceSynchronize()),
        "close": lab.status(rt.cudaIpcCloseMemHandle(memory)),
        "second close": lab.status(rt.cudaIpcCloseMemHandle(memory)),
    }
    companion.send("done")
    return observed


@case(
    "ipc/exporter-frees-under-kernel",
    "the exporter frees while a kernel of the importer is pending: does it wait",
    ["W-09", "ipc-lifetime"],
    bare=True,
    timed=True,
)
def exporter_frees_busy(lab: Lab) -> Observations:
    def child(parent: Companion) -> int:
        memory = _exporter(lab, parent)
        parent.receive()
        parent.send(lab.status(lab.rt.cudaFree(memory)))
        parent.receive()
        return 0

    companion, content = _importer(lab, child)
    stream, memory = lab.stream(), lab.ok(_open(lab, content))
    pending = lab.busy(stream, 2)
    lab.ok(lab.rt.cudaMemsetAsync(memory, 1, SIZE, stream))

    def other_frees() -> tuple[str]:
        companion.send("free")
        return (companion.receive(),)

    status, waited = lab.timed(pending, other_frees)
    observed: Observations = {"exporter's free": status, "waited": waited}
    observed["importer's wait"] = lab.status(lab.rt.cudaStreamSynchronize(stream))
    companion.send("done")
    return observed


@case(
    "ipc/exporter-exits",
    "the exporter ends while the importer has the memory open: words, fill, close",
    ["ipc-lifetime", "exit"],
    bare=True,
)
def exporter_exits(lab: Lab) -> Observations:
    def child(parent: Companion) -> int:
        _exporter(lab, parent)
        parent.receive()
        return 0

    companion, memory = _imported(lab, child)
    rt = lab.rt
    companion.send("end")
    ended = companion.ended()
    observed: Observations = {"exporter ended": ended, "fill": lab.status(rt.cudaMemset(memory, 6, SIZE))}
    observed["wrong"] = lab.wrong(memory, 6)
    observed["close"] = lab.status(rt.cudaIpcCloseMemHandle(memory))
    return observed


@case(
    "ipc/open-after-exit",
    "a handle is opened after the exporter has ended, and after it has freed",
    ["ipc-lifetime", "exit"],
    bare=True,
)
def open_after_exit(lab: Lab) -> Observations:
    def child(parent: Companion) -> int:
        memory = _exporter(lab, parent)
        parent.receive()
        lab.ok(lab.rt.cudaFree(memory))
        parent.send("freed")
        parent.receive()
        return 0

    companion, content = _importer(lab, child)
    companion.send("free")
    companion.receive()
    freed = lab.status(_open(lab, content))
    companion.send("end")
    companion.ended()
    return {"after the free": freed, "after the end": lab.status(_open(lab, content))}


@case(
    "ipc/own-handle",
    "a handle opened in the process that made it; handles of pool and managed memory",
    ["ipc-lifetime", "wrong-handles"],
)
def own_handle(lab: Lab) -> Observations:
    rt, memory = lab.rt, lab.plain()
    handle = _content(lab.ok(rt.cudaIpcGetMemHandle(memory)))
    return {
        "open": lab.status(_open(lab, handle)),
        "handle of pool memory": lab.status(rt.cudaIpcGetMemHandle(lab.pooled(lab.stream()))),
        "handle of managed memory": lab.status(rt.cudaIpcGetMemHandle(lab.managed())),
        "handle of pinned memory": lab.status(rt.cudaIpcGetMemHandle(lab.pinned())),
        "handle of NULL": lab.status(rt.cudaIpcGetMemHandle(0)),
    }


@case(
    "ipc/opened-twice",
    "a handle opened twice in one process: addresses, closes",
    ["ipc-lifetime"],
    bare=True,
)
def opened_twice(lab: Lab) -> Observations:
    def child(parent: Companion) -> int:
        _exporter(lab, parent)
        parent.receive()
        return 0

    companion, content = _importer(lab, child)
    rt = lab.rt
    first, second = _open(lab, content), _open(lab, content)
    observed: Observations = {"first": lab.status(first), "second": lab.status(second)}
    if int(second[0]) == 0:
        observed["same address"] = int(first[1]) == int(second[1])
    observed["closes"] = [lab.status(rt.cudaIpcCloseMemHandle(first[1])) for _ in range(3)]
    companion.send("done")
    return observed


@case(
    "ipc/event",
    "an exported event: the importer's stream waits for the exporter's kernel",
    ["ipc-lifetime", "events"],
    bare=True,
    timed=True,
)
def event(lab: Lab) -> Observations:
    def child(parent: Companion) -> int:
        lab.start()
        rt = lab.rt
        made = lab.ok(rt.cudaEventCreateWithFlags(rt.cudaEventInterprocess | rt.cudaEventDisableTiming))
        parent.send(_content(lab.ok(rt.cudaIpcGetEventHandle(made))))
        parent.receive()
        stream = lab.stream()
        pending = lab.busy(stream, 4)
        lab.ok(rt.cudaEventRecord(made, stream))
        parent.send("recorded")
        parent.receive()
        parent.send(pending.done)
        return 0

    companion, content = _importer(lab, child)
    rt = lab.rt
    opened = lab.ok(rt.cudaIpcOpenEventHandle(_handle(rt.cudaIpcEventHandle_t, content)))
    companion.send("record")
    companion.receive()
    status = lab.status(rt.cudaEventSynchronize(opened))
    companion.send("waited")
    return {"synchronize": status, "exporter's kernel was done": companion.receive()}
