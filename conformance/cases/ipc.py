"""Memory of other processes: imports, frees by the exporter, ends of the exporter."""

from __future__ import annotations

from typing import Any

from conformance.interprocess import (
    be_importer,
    content_of,
    exporter,
    handle_of,
    import_memory,
    open_memory,
)
from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

ipc_case = Family("ipc")


@ipc_case("ipc-lifetime", bare=True)
def words(lab: Lab) -> Observations:
    """Imported memory: are the exporter's words there, are the importer's seen."""

    companion, memory = import_memory(lab, exporter(lab, lambda memory: lab.wrong(memory, 6)))
    wrong = lab.wrong(memory, 5)
    lab.filled(memory, 6)
    return {
        "importer reads wrong": wrong,
        "exporter reads wrong": companion.ask("written"),
        "close": lab.status(lab.rt.cudaIpcCloseMemHandle(memory)),
    }


@ipc_case("W-08", "W-09", bare=True)
def wrong_frees(lab: Lab) -> Observations:
    """The importer frees, closes, closes again."""
    companion, memory = import_memory(lab, exporter(lab))
    rt = lab.rt
    observed: Observations = {
        "cudaFree": lab.status(rt.cudaFree(memory)),
        "cudaFreeAsync": lab.status(rt.cudaFreeAsync(memory, lab.stream())),
        "close": lab.status(rt.cudaIpcCloseMemHandle(memory)),
        "second close": lab.status(rt.cudaIpcCloseMemHandle(memory)),
    }
    companion.send("done")
    return observed


@ipc_case("W-16", "E-07", "ipc-lifetime", "implicit-free", bare=True, timed=True)
def close_pending(lab: Lab) -> Observations:
    """cudaIpcCloseMemHandle while a kernel that does not use the memory, and a fill of it, are pending."""
    companion, content = be_importer(lab, exporter(lab))
    rt, stream, memory = lab.rt, lab.stream(), lab.ok(open_memory(lab, content))
    pending = lab.busy(stream)
    lab.ok(rt.cudaMemsetAsync(memory, 1, SIZE, stream))
    observed = lab.waited(pending, lambda: rt.cudaIpcCloseMemHandle(memory))
    observed["synchronize"] = lab.status(rt.cudaStreamSynchronize(stream))
    companion.send("done")
    return observed


@ipc_case("W-09", "ipc-lifetime", bare=True)
def exporter_frees(lab: Lab) -> Observations:
    """The exporter frees while the importer has the memory open: statuses on both sides."""

    companion, memory = import_memory(lab, exporter(lab, lambda memory: lab.status(lab.rt.cudaFree(memory))))
    rt = lab.rt
    freed = companion.ask("open")
    observed: Observations = {
        "exporter's free": freed,
        "importer's fill": lab.status(rt.cudaMemset(memory, 1, SIZE)),
        "wait": lab.status(rt.cudaDeviceSynchronize()),
        "close": lab.status(rt.cudaIpcCloseMemHandle(memory)),
        "second close": lab.status(rt.cudaIpcCloseMemHandle(memory)),
    }
    companion.send("done")
    return observed


@ipc_case("W-09", "ipc-lifetime", bare=True, timed=True)
def exporter_frees_under_kernel(lab: Lab) -> Observations:
    """The exporter frees while a kernel of the importer is pending: does it wait."""

    companion, content = be_importer(lab, exporter(lab, lambda memory: lab.status(lab.rt.cudaFree(memory))))
    stream, memory = lab.stream(), lab.ok(open_memory(lab, content))
    pending = lab.busy(stream, 2)
    lab.ok(lab.rt.cudaMemsetAsync(memory, 1, SIZE, stream))
    status, waited = lab.timed(pending, lambda: (companion.ask("free"),))
    observed: Observations = {"exporter's free": status, "waited": waited}
    observed["importer's wait"] = lab.status(lab.rt.cudaStreamSynchronize(stream))
    companion.send("done")
    return observed


@ipc_case("W-19", "ipc-lifetime", "exit", bare=True)
def exporter_exits(lab: Lab) -> Observations:
    """The exporter ends while the importer has the memory open: words, fill, close."""
    companion, memory = import_memory(lab, exporter(lab))
    rt = lab.rt
    companion.send("end")
    ended = companion.ended()
    observed: Observations = {"exporter ended": ended, "fill": lab.status(rt.cudaMemset(memory, 6, SIZE))}
    observed["wrong"] = lab.wrong(memory, 6)
    observed["close"] = lab.status(rt.cudaIpcCloseMemHandle(memory))
    return observed


@ipc_case("W-18", "ipc-lifetime", "exit", bare=True)
def open_after_exit(lab: Lab) -> Observations:
    """A handle is opened after the exporter has ended, and after it has freed."""

    companion, content = be_importer(lab, exporter(lab, lambda memory: lab.ok(lab.rt.cudaFree(memory))))
    companion.ask("free")
    freed = lab.status(open_memory(lab, content))
    companion.send("end")
    companion.ended()
    return {"after the free": freed, "after the end": lab.status(open_memory(lab, content))}


@ipc_case("W-17", "ipc-lifetime", "wrong-handles")
def own_handle(lab: Lab) -> Observations:
    """A handle opened in the process that made it; handles of pool and managed memory."""
    rt, memory = lab.rt, lab.plain()
    handle = content_of(lab.ok(rt.cudaIpcGetMemHandle(memory)))
    return {
        "open": lab.status(open_memory(lab, handle)),
        "handle of pool memory": lab.status(rt.cudaIpcGetMemHandle(lab.pooled(lab.stream()))),
        "handle of managed memory": lab.status(rt.cudaIpcGetMemHandle(lab.managed())),
        "handle of pinned memory": lab.status(rt.cudaIpcGetMemHandle(lab.pinned())),
        "handle of NULL": lab.status(rt.cudaIpcGetMemHandle(0)),
    }


@ipc_case("W-17", "ipc-lifetime", bare=True)
def opened_twice(lab: Lab) -> Observations:
    """A handle opened twice in one process: addresses, closes."""
    companion, content = be_importer(lab, exporter(lab))
    rt = lab.rt
    first, second = open_memory(lab, content), open_memory(lab, content)
    observed: Observations = {"first": lab.status(first), "second": lab.status(second)}
    if int(second[0]) == 0:
        observed["same address"] = int(first[1]) == int(second[1])
    observed["closes"] = [lab.status(rt.cudaIpcCloseMemHandle(first[1])) for _ in range(3)]
    companion.send("done")
    return observed


@ipc_case("W-22", "ipc-lifetime", "recycled-address", bare=True)
def freed_words(lab: Lab) -> Observations:
    """The exporter frees and fills new memory while the importer has the old one open: the importer's words."""

    def freed_and_filled(memory: Any) -> bool:
        lab.ok(lab.rt.cudaFree(memory))
        return int(lab.plain(byte=6)) == int(memory)

    companion, memory = import_memory(lab, exporter(lab, freed_and_filled))
    companion.ask("free")
    observed: Observations = {"wrong": lab.wrong(memory, 5)}
    companion.send("done")
    return observed


@ipc_case("W-23", "ipc-lifetime", "wrong-handles", fresh=True)
def no_handle(lab: Lab) -> Observations:
    """Bytes that no process made, opened; an event's handle in its own process, and of an event for one process."""
    rt = lab.rt
    event = lab.ok(rt.cudaEventCreateWithFlags(rt.cudaEventInterprocess | rt.cudaEventDisableTiming))
    plain = lab.ok(rt.cudaEventCreateWithFlags(rt.cudaEventDisableTiming))
    given = content_of(lab.ok(rt.cudaIpcGetEventHandle(event)))
    return {
        "zeros": lab.status(open_memory(lab, "00" * 64)),
        "ones": lab.status(open_memory(lab, "ff" * 64)),
        "zeros as an event": lab.status(rt.cudaIpcOpenEventHandle(handle_of(rt.cudaIpcEventHandle_t, "00" * 64))),
        "own event": lab.status(rt.cudaIpcOpenEventHandle(handle_of(rt.cudaIpcEventHandle_t, given))),
        "handle of an event for one process": lab.status(rt.cudaIpcGetEventHandle(plain)),
    }
