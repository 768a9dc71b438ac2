"""Events that processes share: who waits for one sees the work before its record done, whichever process issued it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from other_process import Other, bytes_at, content_of, exported_memory, handle_of, opened_memory, other_process
from simulated_cuda import driver, ok, runtime, stream

from streamsan.sim import active
from streamsan.sim.exchange.records import MOST_EVENTS, RING
from streamsan.sim.session import NeverReturnsError
from streamsan.testing import device

SIZE = 4096
SCHEDULES = ["lazy", "eager", 0, 1, 2]


def exported_event() -> tuple[Any, str]:
    flags = runtime.cudaEventInterprocess | runtime.cudaEventDisableTiming
    event = ok(runtime.cudaEventCreateWithFlags(flags))
    return event, content_of(ok(runtime.cudaIpcGetEventHandle(event)))


def opened_event(content: str) -> Any:
    return ok(runtime.cudaIpcOpenEventHandle(handle_of("Event", content)))


def record_and_stay(other: Other) -> None:
    """Export an event and memory, fill the memory and record, then do nothing that has to do with CUDA."""
    event, content = exported_event()
    memory, memory_content = exported_memory(SIZE, 1)
    on = stream()
    other.send([content, memory_content])
    other.receive()
    ok(runtime.cudaMemsetAsync(memory, 2, SIZE, on))
    ok(runtime.cudaEventRecord(event, on))
    other.send("recorded")
    other.receive()


def record_behind_an_endless_wait(other: Other) -> None:
    event, content = exported_event()
    flag, _ = exported_memory(SIZE, 0)
    on = stream()
    ok(driver.cuStreamWaitValue32(on, int(flag), 1, 0))
    ok(runtime.cudaEventRecord(event, on))
    other.send(content)
    other.receive()


def by_host(event: Any, memory: Any) -> None:
    ok(runtime.cudaEventSynchronize(event))


def by_query(event: Any, memory: Any) -> None:
    while runtime.cudaEventQuery(event)[0] == runtime.cudaError_t.cudaErrorNotReady:
        pass


def by_stream(event: Any, memory: Any) -> None:
    on = stream()
    ok(runtime.cudaStreamWaitEvent(on, event, 0))
    ok(runtime.cudaStreamSynchronize(on))


def by_stream_query(event: Any, memory: Any) -> None:
    on = stream()
    ok(runtime.cudaStreamWaitEvent(on, event, 0))
    while runtime.cudaStreamQuery(on)[0] == runtime.cudaError_t.cudaErrorNotReady:
        pass


def by_graph(event: Any, memory: Any) -> None:
    graph = ok(runtime.cudaGraphCreate(0))
    ok(runtime.cudaGraphAddEventWaitNode(graph, None, 0, event))
    on = stream()
    ok(runtime.cudaGraphLaunch(ok(runtime.cudaGraphInstantiate(graph, 0)), on))
    ok(runtime.cudaStreamSynchronize(on))


def by_looking(event: Any, memory: Any) -> None:
    """Not by the event at all: a program may look at the memory until what it expects is there."""
    while bytes_at(memory, SIZE) != {2}:
        pass


WAYS = [by_host, by_query, by_stream, by_stream_query, by_graph, by_looking]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("wait", WAYS)
def test_the_exporter_s_work_is_done_although_it_is_blocked(wait: Callable[[Any, Any], None], schedule: Any) -> None:
    with device(schedule=schedule) as found, other_process(record_and_stay) as other:
        event_content, memory_content = other.receive()
        event = opened_event(event_content)
        memory = opened_memory(memory_content)
        other.send("record")
        assert other.receive() == "recorded"
        wait(event, memory)
        assert found.read(memory, SIZE) == b"\2" * SIZE
        other.send("end")
        assert other.wait() == 0


def test_without_a_wait_the_words_are_old() -> None:
    with device(schedule="lazy") as found, other_process(record_and_stay) as other:
        _, memory_content = other.receive()
        memory = opened_memory(memory_content)
        other.send("record")
        assert other.receive() == "recorded"
        assert found.read(memory, SIZE) == b"\1" * SIZE


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_importer_may_record_and_then_the_exporter_again(schedule: Any) -> None:
    def exporter(other: Other) -> None:
        event, content = exported_event()
        memory, memory_content = exported_memory(SIZE, 1)
        on = stream()
        other.send([content, memory_content])
        for byte in (3, 5, 7):
            assert other.receive() == "recorded"
            ok(runtime.cudaStreamWaitEvent(on, event, 0))
            ok(runtime.cudaStreamSynchronize(on))
            assert bytes_at(memory, SIZE) == {byte}
            ok(runtime.cudaMemsetAsync(memory, byte + 1, SIZE, on))
            ok(runtime.cudaEventRecord(event, on))
            other.send("recorded")
        other.receive()

    with device(schedule=schedule) as found, other_process(exporter) as other:
        event_content, memory_content = other.receive()
        event, on = opened_event(event_content), stream()
        memory = opened_memory(memory_content)
        for byte in (3, 5, 7):
            ok(runtime.cudaMemsetAsync(memory, byte, SIZE, on))
            ok(runtime.cudaEventRecord(event, on))
            other.send("recorded")
            assert other.receive() == "recorded"
            ok(runtime.cudaEventSynchronize(event))
            assert found.read(memory, SIZE) == bytes([byte + 1]) * SIZE
        other.send("end")
        assert other.wait() == 0


def test_a_wait_is_for_the_record_that_was_the_latest() -> None:
    """A stream that waits is not held up by what is recorded later."""

    def exporter(other: Other) -> None:
        event, content = exported_event()
        flag, _ = exported_memory(SIZE, 0)
        on = stream()
        ok(runtime.cudaEventRecord(event, stream()))
        other.send(content)
        other.receive()
        ok(driver.cuStreamWaitValue32(on, int(flag), 1, 0))
        ok(runtime.cudaEventRecord(event, on))
        other.send("recorded again")
        other.receive()
        ok(runtime.cudaMemset(flag, 1, 4))
        ok(runtime.cudaDeviceSynchronize())

    with device(schedule="lazy"), other_process(exporter) as other:
        event, on = opened_event(other.receive()), stream()
        ok(runtime.cudaStreamWaitEvent(on, event, 0))
        other.send("waits")
        assert other.receive() == "recorded again"
        ok(runtime.cudaStreamSynchronize(on))
        assert runtime.cudaEventQuery(event)[0] == runtime.cudaError_t.cudaErrorNotReady
        other.send("end")
        assert other.wait() == 0


def test_more_records_than_are_kept() -> None:
    count = 3 * RING

    def exporter(other: Other) -> None:
        event, content = exported_event()
        on = stream()
        for _ in range(count):
            ok(runtime.cudaEventRecord(event, on))
        other.send(content)
        other.receive()

    with device(schedule="lazy"), other_process(exporter) as other:
        ok(runtime.cudaEventSynchronize(opened_event(other.receive())))


@pytest.mark.parametrize("end", ["kill", "exit"])
@pytest.mark.parametrize("wait", [by_host, by_query, by_stream, by_stream_query])
def test_what_an_ended_process_recorded_is_complete(wait: Callable[[Any, Any], None], end: str) -> None:
    with device(schedule="lazy"), other_process(record_and_stay) as other:
        event = opened_event(other.receive()[0])
        other.send("record")
        assert other.receive() == "recorded"
        if end == "kill":
            other.kill()
        else:
            other.send("end")
            other.wait()
        wait(event, None)


def test_an_event_of_an_ended_process_opens_and_is_complete() -> None:
    with device(), other_process(lambda other: other.send(exported_event()[1])) as other:
        content = other.receive()
        other.wait()
        event = ok(runtime.cudaIpcOpenEventHandle(handle_of("Event", content)))
        assert runtime.cudaEventQuery(event)[0] == runtime.cudaError_t.cudaSuccess
        ok(runtime.cudaEventSynchronize(event))


def test_a_process_that_ends_while_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with device(), other_process(record_behind_an_endless_wait) as other:
        event = opened_event(other.receive())
        assert runtime.cudaEventQuery(event)[0] == runtime.cudaError_t.cudaErrorNotReady
        exchange = active.session().executor.exchange
        ask, asked = exchange.go_on_elsewhere, []

        def asking(*given: Any) -> int | None:
            asked.append(given)
            if len(asked) == 3:
                other.kill()
            return ask(*given)

        monkeypatch.setattr(exchange, "go_on_elsewhere", asking)
        ok(runtime.cudaEventSynchronize(event))
        assert len(asked) >= 3


def test_a_wait_that_the_other_process_cannot_end_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits as long as a program may: the patience is short here."""

    monkeypatch.setattr("streamsan.sim.turns.PATIENCE", 0.05)
    with device(), other_process(record_behind_an_endless_wait) as other:
        event = opened_event(other.receive())
        with pytest.raises(NeverReturnsError, match="another process's record of an event"):
            runtime.cudaEventSynchronize(event)


def test_two_processes_that_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for a value that only the other could write."""

    def waits_for_ever(flag: Any) -> str:
        on = stream()
        ok(driver.cuStreamWaitValue32(on, int(flag), 1, 0))
        with pytest.raises(NeverReturnsError) as raised:
            runtime.cudaStreamSynchronize(on)
        return str(raised.value)

    def exporter(other: Other) -> None:
        flag, content = exported_memory(SIZE, 0)
        other.send(content)
        other.receive()
        other.send(waits_for_ever(flag))
        other.receive()

    monkeypatch.setattr("streamsan.sim.turns.PATIENCE", 0.3)
    with device(), other_process(exporter) as other:
        flag = opened_memory(other.receive())
        other.send("wait")
        assert "nobody is left to change it" in waits_for_ever(flag)
        assert "nobody is left to change it" in other.receive()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_stream_waits_for_a_value_that_another_process_s_device_writes(schedule: Any) -> None:
    def exporter(other: Other) -> None:
        flag, content = exported_memory(SIZE, 0)
        on = stream()
        other.send(content)
        assert other.receive() == "issued"
        ok(driver.cuStreamWaitValue32(on, int(flag), 1, 0))
        ok(runtime.cudaStreamSynchronize(on))
        other.send("waited")
        other.receive()

    with device(schedule=schedule), other_process(exporter) as other:
        flag = opened_memory(other.receive())
        ok(driver.cuStreamWriteValue32(stream(), int(flag), 1, 0))
        other.send("issued")
        assert other.receive() == "waited"
        other.send("end")
        assert other.wait() == 0


def test_three_processes_in_a_row() -> None:
    """The wish to go on is passed on: the first's record waits for the second's, that for the third's."""

    def third(other: Other) -> None:
        event, content = exported_event()
        other.send(content)
        other.receive()
        ok(runtime.cudaEventRecord(event, stream()))
        other.send("recorded")
        other.receive()

    def second(other: Other) -> None:
        event, content = exported_event()
        other.send(content)
        before, on = opened_event(other.receive()), stream()
        ok(runtime.cudaStreamWaitEvent(on, before, 0))
        ok(runtime.cudaEventRecord(event, on))
        other.send("recorded")
        other.receive()

    with device(schedule="lazy"), other_process(third) as far, other_process(second) as near:
        content = far.receive()
        event = opened_event(near.receive())
        far.send("record")
        assert far.receive() == "recorded"
        near.send(content)
        assert near.receive() == "recorded"
        ok(runtime.cudaEventSynchronize(event))


def test_opened_twice_it_is_one_event() -> None:
    with device(schedule="lazy") as found, other_process(record_and_stay) as other:
        event_content, memory_content = other.receive()
        first, second = opened_event(event_content), opened_event(event_content)
        memory = opened_memory(memory_content)
        ok(runtime.cudaEventDestroy(first))
        other.send("record")
        assert other.receive() == "recorded"
        ok(runtime.cudaEventSynchronize(second))
        assert found.read(memory, SIZE) == b"\2" * SIZE
        on = stream()
        ok(runtime.cudaMemsetAsync(memory, 4, SIZE, on))
        ok(runtime.cudaEventRecord(second, on))
        ok(runtime.cudaEventSynchronize(opened_event(event_content)))
        assert found.read(memory, SIZE) == b"\4" * SIZE


def test_destroyed_by_the_exporter_it_can_be_opened_no_more() -> None:
    def exporter(other: Other) -> None:
        event, content = exported_event()
        ok(runtime.cudaEventDestroy(event))
        other.send(content)
        other.receive()

    with device(), other_process(exporter) as other:
        invalid = runtime.cudaError_t.cudaErrorInvalidValue
        assert runtime.cudaIpcOpenEventHandle(handle_of("Event", other.receive())) == (invalid, None)


def test_places_of_destroyed_events_are_used_again() -> None:
    with device():
        contents = set()
        for _ in range(MOST_EVENTS + 3):
            event, content = exported_event()
            contents.add(content)
            ok(runtime.cudaEventDestroy(event))
        assert len(contents) == MOST_EVENTS + 3
