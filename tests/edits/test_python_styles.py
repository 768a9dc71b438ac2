"""Edits in the dialects of Python programs: where the names are, and how calls are written there."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from streamsan.cli import main

pytestmark = [pytest.mark.usefixtures("forked_programs"), pytest.mark.deep]

HELPER = """
from cuda.bindings import runtime as cudart


def ok(result):
    status, *rest = result
    if status != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(status)
    return rest[0] if rest else None


def new_stream():
    return ok(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))


class Buffer:
    def __init__(self, nbytes, stream):
        self.nbytes, self.stream = nbytes, stream

    def __enter__(self):
        self.pointer = ok(cudart.cudaMallocAsync(self.nbytes, self.stream))
        return self

    def __exit__(self, *exception):
        ok(cudart.cudaFreeAsync(self.pointer, self.stream))
"""
STYLES = {
    # The program has the API's modules from its helper only; the edit goes to the end of the block.
    "with_block": (
        """
        import helper as h

        a, b = h.new_stream(), h.new_stream()
        with h.Buffer(4096, a) as buffer:
            h.ok(h.cudart.cudaStreamSynchronize(a))
            h.ok(h.cudart.cudaMemsetAsync(buffer.pointer, 1, 4096, b))
        h.ok(h.cudart.cudaDeviceSynchronize())
        """,
        [
            "    streamsan_event = h.ok(h.cudart.cudaEventCreateWithFlags(h.cudart.cudaEventDisableTiming))",
            "    h.ok(h.cudart.cudaEventRecord(streamsan_event, b))",
            "    h.ok(h.cudart.cudaStreamWaitEvent(buffer.stream, streamsan_event, 0))",
            "    h.ok(h.cudart.cudaEventDestroy(streamsan_event))",
        ],
    ),
    # Functions imported by name: the import gets longer. A status that is looked at by the line behind the call.
    "functions": (
        """
        from cuda.bindings.runtime import (
            cudaDeviceSynchronize,
            cudaMalloc,
            cudaMemsetAsync,
            cudaStreamCreateWithFlags,
        )

        err, a = cudaStreamCreateWithFlags(1)
        assert not err.value
        err, b = cudaStreamCreateWithFlags(1)
        assert not err.value
        err, memory = cudaMalloc(4096)
        assert not err.value
        err, = cudaMemsetAsync(memory, 1, 4096, a)
        assert not err.value
        err, = cudaMemsetAsync(memory, 2, 4096, b)
        assert not err.value
        err, = cudaDeviceSynchronize()
        assert not err.value
        raise SystemExit(1)
        """,
        [
            "    cudaEventDisableTiming,",
            "    cudaEventCreateWithFlags,",
            "    cudaEventRecord,",
            "    cudaStreamWaitEvent,",
            "    cudaEventDestroy,",
            "err, streamsan_event = cudaEventCreateWithFlags(cudaEventDisableTiming)",
            "assert not err.value",
            "err, = cudaEventRecord(streamsan_event, a)",
            "assert not err.value",
            "err, = cudaStreamWaitEvent(b, streamsan_event, 0)",
            "assert not err.value",
            "err, = cudaEventDestroy(streamsan_event)",
            "assert not err.value",
        ],
    ),
    # A helper that takes the function, streams in a dictionary.
    "forwarding": (
        """
        from cuda.bindings import runtime as rt
        from helper import ok


        def call(function, *args):
            return ok(function(*args))


        streams = {name: call(rt.cudaStreamCreateWithFlags, rt.cudaStreamNonBlocking) for name in ("in", "out")}
        memory = call(rt.cudaMalloc, 4096)
        call(rt.cudaMemsetAsync, memory, 1, 4096, streams["in"])
        call(rt.cudaMemsetAsync, memory, 2, 4096, streams["out"])
        call(rt.cudaDeviceSynchronize)
        call(rt.cudaFree, memory)
        """,
        [
            "streamsan_event = call(rt.cudaEventCreateWithFlags, rt.cudaEventDisableTiming)",
            'call(rt.cudaEventRecord, streamsan_event, streams["in"])',
            'call(rt.cudaStreamWaitEvent, streams["out"], streamsan_event, 0)',
            "call(rt.cudaEventDestroy, streamsan_event)",
        ],
    ),
    # Several streams are waited for: where each of them works, all names are there. The stream is nobody's variable.
    "fan_out": (
        """
        from dataclasses import dataclass, field

        from helper import cudart, new_stream, ok


        @dataclass(slots=True)
        class Lanes:
            streams: list = field(default_factory=lambda: [new_stream(), new_stream()])

            def __iter__(self):
                return iter(self.streams)


        def main():
            source, lanes = new_stream(), Lanes()
            memory = ok(cudart.cudaMallocAsync(4096, source))
            ok(cudart.cudaStreamSynchronize(source))
            for number, lane in enumerate(lanes):
                ok(cudart.cudaMemsetAsync(int(memory) + number, 1, 1, lane))
            ok(cudart.cudaFreeAsync(memory, source))
            ok(cudart.cudaDeviceSynchronize())


        main()
        """,
        [
            "        streamsan_event = ok(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))",
            "        ok(cudart.cudaEventRecord(streamsan_event, lane))",
            "        ok(cudart.cudaStreamWaitEvent(source, streamsan_event, 0))",
            "        ok(cudart.cudaEventDestroy(streamsan_event))",
        ],
    ),
    # The driver API, in a method; a property names the stream.
    "driver": (
        """
        from cuda.bindings import driver as cu
        from helper import ok


        class Engine:
            def __init__(self):
                for result in (cu.cuInit(0), cu.cuDevicePrimaryCtxRetain(0)):
                    assert not result[0].value
                self.context = result[1]
                self._check(cu.cuCtxSetCurrent(self.context))
                self._made = [self._check(cu.cuStreamCreate(1)) for _ in range(2)]
                self.memory = self._check(cu.cuMemAlloc(4096))

            @staticmethod
            def _check(result):
                assert not result[0].value
                return result[1] if len(result) > 1 else None

            @property
            def other(self):
                return self._made[1]

            def run(self):
                self._check(cu.cuMemsetD8Async(self.memory, 1, 4096, self._made[0]))
                self._check(cu.cuMemsetD8Async(self.memory, 2, 4096, self.other))

            def close(self):
                self._check(cu.cuCtxSynchronize())
                self._check(cu.cuMemFree(self.memory))


        engine = Engine()
        engine.run()
        engine.close()
        """,
        [
            "        streamsan_event = self._check(cu.cuEventCreate(cu.CUevent_flags.CU_EVENT_DISABLE_TIMING))",
            "        self._check(cu.cuEventRecord(streamsan_event, self._made[0]))",
            "        self._check(cu.cuStreamWaitEvent(self.other, streamsan_event, 0))",
            "        self._check(cu.cuEventDestroy(streamsan_event))",
        ],
    ),
    # Processes that are started anew have the edit as well.
    "spawned": (
        """
        import multiprocessing


        def work():
            from helper import cudart, new_stream, ok

            a, b = new_stream(), new_stream()
            memory = ok(cudart.cudaMallocAsync(4096, a))
            ok(cudart.cudaStreamSynchronize(a))
            ok(cudart.cudaMemsetAsync(memory, 1, 4096, b))
            ok(cudart.cudaFreeAsync(memory, a))
            ok(cudart.cudaDeviceSynchronize())


        if __name__ == "__main__":
            child = multiprocessing.get_context("spawn").Process(target=work)
            child.start()
            child.join()
        """,
        ["    ok(cudart.cudaFreeAsync(memory, b))"],
    ),
}


@pytest.mark.parametrize("style", STYLES)
def test_an_edit_is_in_the_programs_own_words(
    style: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text, added = STYLES[style]
    monkeypatch.chdir(tmp_path)
    Path("helper.py").write_text(HELPER, encoding="utf-8")
    Path("program.py").write_text(textwrap.dedent(text), encoding="utf-8")
    main(["sim", "--diff", "program.py"])
    lines = capfd.readouterr().out.split("\n")
    assert [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")] == added
