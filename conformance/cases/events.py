"""Events: records, waits, queries, destruction."""

from __future__ import annotations

from conformance.lab import Lab
from conformance.registry import Family, Observations

event_case = Family("event", timed=True)


@event_case("A-05")
def destroy_awaited(lab: Lab) -> Observations:
    """cudaEventDestroy while another stream waits for the event."""
    rt, s1, s2, memory = lab.rt, lab.stream(), lab.stream(), lab.plain(byte=1)
    pending = lab.busy(s1)
    lab.ok(lab.write_words(memory, 0x05050505, s1))
    event = lab.event(s1)
    lab.ok(rt.cudaStreamWaitEvent(s2, event, 0))
    status, waited = lab.timed(pending, lambda: rt.cudaEventDestroy(event))
    result = lab.read_later(memory, s2)
    _, other = lab.timed(pending, lambda: rt.cudaStreamSynchronize(s2))
    return {"status": status, "waited": waited, "the other stream waited": other, "wrong": lab.wrong(result, 5)}


@event_case("A-06", "events")
def never_recorded(lab: Lab) -> Observations:
    """Wait, synchronise, query, elapsed time of events never recorded."""
    rt, stream, event = lab.rt, lab.stream(), lab.event()
    pending = lab.busy(lab.stream())
    observed: Observations = {"wait": lab.status(rt.cudaStreamWaitEvent(stream, event, 0))}
    _, observed["stream waited"] = lab.timed(pending, lambda: rt.cudaStreamSynchronize(stream))
    observed["query"] = lab.status(rt.cudaEventQuery(event))
    observed["synchronize"], observed["synchronize waited"] = lab.timed(pending, lambda: rt.cudaEventSynchronize(event))
    one, other = lab.ok(rt.cudaEventCreate()), lab.ok(rt.cudaEventCreate())
    observed["elapsed"] = lab.status(rt.cudaEventElapsedTime(one, other))
    observed["elapsed without timing"] = lab.status(rt.cudaEventElapsedTime(event, event))
    return observed


@event_case("A-06")
def wait_before_record(lab: Lab) -> Observations:
    """A stream waits for an event that is recorded afterwards."""
    rt, s1, s2, event = lab.rt, lab.stream(), lab.stream(), lab.event()
    lab.ok(rt.cudaStreamWaitEvent(s2, event, 0))
    pending = lab.busy(s1)
    lab.ok(rt.cudaEventRecord(event, s1))
    _, waited = lab.timed(pending, lambda: rt.cudaStreamSynchronize(s2))
    return {"stream waited": waited}


@event_case("events")
def re_record(lab: Lab) -> Observations:
    """An event recorded behind a kernel, awaited by a stream, then recorded in an idle stream."""
    rt, busy, idle, waiting, event = lab.rt, lab.stream(), lab.stream(), lab.stream(), lab.event()
    pending = lab.busy(busy)
    lab.ok(rt.cudaEventRecord(event, busy))
    lab.ok(rt.cudaStreamWaitEvent(waiting, event, 0))
    lab.ok(rt.cudaEventRecord(event, idle))
    _, host = lab.timed(pending, lambda: rt.cudaEventSynchronize(event))
    _, stream = lab.timed(pending, lambda: rt.cudaStreamSynchronize(waiting))
    return {"host waits for the new record": not host, "stream waits for the old record": stream}


@event_case("events")
def query(lab: Lab) -> Observations:
    """An event behind a kernel: query before, wait, query after; the stream's query likewise."""
    rt, stream, event = lab.rt, lab.stream(), lab.event()
    pending = lab.busy(stream)
    lab.ok(rt.cudaEventRecord(event, stream))
    observed: Observations = {
        "event before": lab.status(rt.cudaEventQuery(event)),
        "stream before": lab.status(rt.cudaStreamQuery(stream)),
        "last error": lab.status(rt.cudaGetLastError()),
    }
    _, observed["waited"] = lab.timed(pending, lambda: rt.cudaEventSynchronize(event))
    observed["event after"] = lab.status(rt.cudaEventQuery(event))
    observed["stream after"] = lab.status(rt.cudaStreamQuery(stream))
    return observed


@event_case("events")
def elapsed(lab: Lab) -> Observations:
    """Elapsed time: of complete events, of one pending, of one without timing."""
    rt, stream = lab.rt, lab.stream()
    begin, end, untimed = lab.ok(rt.cudaEventCreate()), lab.ok(rt.cudaEventCreate()), lab.event()
    lab.ok(rt.cudaEventRecord(begin, stream))
    lab.busy(stream)
    for event in (end, untimed):
        lab.ok(rt.cudaEventRecord(event, stream))
    pending = lab.status(rt.cudaEventElapsedTime(begin, end))
    lab.ok(rt.cudaStreamSynchronize(stream))
    status, milliseconds = rt.cudaEventElapsedTime(begin, end)
    return {
        "pending": pending,
        "complete": lab.status((status,)),
        "positive": milliseconds is not None and float(milliseconds) > 0,
        "without timing": lab.status(rt.cudaEventElapsedTime(begin, untimed)),
    }


@event_case("events")
def blocking_sync(lab: Lab) -> Observations:
    """cudaEventSynchronize of an event made with cudaEventBlockingSync."""
    rt, stream = lab.rt, lab.stream()
    event = lab.ok(rt.cudaEventCreateWithFlags(rt.cudaEventBlockingSync | rt.cudaEventDisableTiming))
    pending = lab.busy(stream)
    lab.ok(rt.cudaEventRecord(event, stream))
    return lab.waited(pending, lambda: rt.cudaEventSynchronize(event))


@event_case("events")
def fan_out(lab: Lab) -> Observations:
    """One event awaited by three streams, its own stream goes on."""
    rt, source, memory = lab.rt, lab.stream(), lab.plain(byte=1)
    lab.busy(source)
    lab.ok(lab.write_words(memory, 0x05050505, source))
    event = lab.event(source)
    results = []
    for _ in range(3):
        stream = lab.stream()
        lab.ok(rt.cudaStreamWaitEvent(stream, event, 0))
        results.append(lab.read_later(memory, stream))
    return {"wrong": [lab.wrong(result, 5) for result in results]}
