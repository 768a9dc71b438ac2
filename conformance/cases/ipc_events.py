"""Events of other processes: waits by host and stream, records by either side, ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.companion import Companion
from conformance.interprocess import be_importer, content_of, handle_of
from conformance.lab import Lab
from conformance.observer import Pending
from conformance.registry import Family, Observations

ipc_case = Family("ipc", bare=True)


def _exported(lab: Lab, parent: Companion) -> Any:
    """Be the exporter: give the handle of an event; return the event."""
    lab.start()
    rt = lab.rt
    event = lab.ok(rt.cudaEventCreateWithFlags(rt.cudaEventInterprocess | rt.cudaEventDisableTiming))
    parent.send(content_of(lab.ok(rt.cudaIpcGetEventHandle(event))))
    parent.receive()
    return event


def _recorded(lab: Lab, event: Any) -> Pending:
    """Record an event behind a kernel that keeps its stream busy."""
    stream = lab.stream()
    pending = lab.busy(stream, 4)
    lab.ok(lab.rt.cudaEventRecord(event, stream))
    return pending


def _recording(lab: Lab) -> Callable[[Companion], int]:
    """Return what an exporter does that records its event behind a kernel, and says later whether that was done."""

    def child(parent: Companion) -> int:
        pending = _recorded(lab, _exported(lab, parent))
        parent.send("recorded")
        parent.receive()
        parent.send(pending.done)
        return 0

    return child


def _open(lab: Lab, content: str) -> Any:
    """Open a handle of an event; return what the call gives."""
    return lab.rt.cudaIpcOpenEventHandle(handle_of(lab.rt.cudaIpcEventHandle_t, content))


@ipc_case("ipc-lifetime", "events", timed=True)
def event(lab: Lab) -> Observations:
    """An exported event: the importer waits for the exporter's kernel."""
    companion, content = be_importer(lab, _recording(lab))
    opened = lab.ok(_open(lab, content))
    companion.ask("record")
    status = lab.status(lab.rt.cudaEventSynchronize(opened))
    return {"synchronize": status, "exporter's kernel was done": companion.ask("waited")}


@ipc_case("ipc-lifetime", "events", timed=True)
def event_stream_wait(lab: Lab) -> Observations:
    """An exported event: a stream of the importer waits for the exporter's kernel, its host for the stream."""
    companion, content = be_importer(lab, _recording(lab))
    rt, stream = lab.rt, lab.stream()
    opened = lab.ok(_open(lab, content))
    companion.ask("record")
    observed: Observations = {"wait": lab.status(rt.cudaStreamWaitEvent(stream, opened, 0))}
    observed["synchronize"] = lab.status(rt.cudaStreamSynchronize(stream))
    observed["exporter's kernel was done"] = companion.ask("waited")
    return observed


@ipc_case("ipc-lifetime", "events", timed=True)
def event_importer_records(lab: Lab) -> Observations:
    """An exported event that the importer records: the exporter waits for the importer's kernel."""

    def child(parent: Companion) -> int:
        event = _exported(lab, parent)
        parent.send(lab.status(lab.rt.cudaEventSynchronize(event)))
        parent.receive()
        return 0

    companion, content = be_importer(lab, child)
    opened = lab.ok(_open(lab, content))
    pending = _recorded(lab, opened)
    status = companion.ask("recorded")
    observed: Observations = {"exporter's synchronize": status, "importer's kernel was done": pending.done}
    companion.send("done")
    return observed


@ipc_case("W-23", "ipc-lifetime", "events", "exit", undefined=True)
def event_ends(lab: Lab) -> Observations:
    """An exported event: opened after its destruction, opened after the exporter's end, used after both."""

    def child(parent: Companion) -> int:
        event = _exported(lab, parent)
        lab.ok(lab.rt.cudaEventDestroy(event))
        parent.send("destroyed")
        parent.receive()
        return 0

    companion, content = be_importer(lab, child)
    opened = lab.ok(_open(lab, content))
    companion.ask("destroy")
    observed: Observations = {"opened after destruction": lab.status(_open(lab, content))}
    observed["synchronized after destruction"] = lab.status(lab.rt.cudaEventSynchronize(opened))
    companion.send("end")
    companion.ended()
    observed["opened after the end"] = lab.status(_open(lab, content))
    observed["synchronized after the end"] = lab.status(lab.rt.cudaEventSynchronize(opened))
    return observed


@ipc_case("W-23", "ipc-lifetime", "events", "exit")
def event_open_after_exit(lab: Lab) -> Observations:
    """A handle of an event opened for the first time after the exporter has ended."""

    def child(parent: Companion) -> int:
        _exported(lab, parent)
        return 0

    companion, content = be_importer(lab, child)
    companion.send("end")
    companion.ended()
    return {"open": lab.status(_open(lab, content))}


@ipc_case("W-23", "ipc-lifetime", "events", "exit", undefined=True)
def event_exporter_exits(lab: Lab) -> Observations:
    """The exporter ends with its record pending: does the importer's wait come back."""

    companion, content = be_importer(lab, _recording(lab))
    opened = lab.ok(_open(lab, content))
    companion.ask("record")
    companion.send("end")
    ended = companion.ended()
    return {"exporter ended": ended, "synchronize": lab.status(lab.rt.cudaEventSynchronize(opened))}
