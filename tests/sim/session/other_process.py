"""Another process of a test's program: forked, with a pipe each way, and never waited for without a bound."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from simulated_cuda import ok, runtime

BOUND = 60.0
"""seconds that a test waits for the other process before it fails"""


class Other:
    """One end: what it sends the other receives. Values are JSON, bytes of handles go as hexadecimal digits."""

    def __init__(self, process: int, reading: int, writing: int) -> None:
        self.process = process
        self._reading = reading
        self._writing = writing
        self._left = b""
        self._has_ended = False

    def send(self, value: object) -> None:
        os.write(self._writing, json.dumps(value).encode() + b"\n")

    def receive(self) -> Any:
        """Wait for the next value. Raises AssertionError when none comes."""
        while b"\n" not in self._left:
            assert select.select([self._reading], [], [], BOUND)[0], "the other process says nothing"
            more = os.read(self._reading, 1 << 16)
            assert more, "the other process has ended"
            self._left += more
        line, _, self._left = self._left.partition(b"\n")
        return json.loads(line)

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        """Wait for the end of the other process; return its wait status. It can only end: its pipe does, too."""
        self._has_ended = True
        return os.waitpid(self.process, 0)[1]

    def close(self) -> None:
        if not self._has_ended:
            with suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
            self.wait()
        os.close(self._reading)
        os.close(self._writing)


@contextmanager
def other_process(body: Callable[[Other], object]) -> Iterator[Other]:
    """Fork, and run a function in the child, which then ends as os._exit does. At the end the child is no more."""
    to_child, to_parent = os.pipe(), os.pipe()
    process = os.fork()
    if not process:
        status = 70
        try:
            os.close(to_child[1])
            os.close(to_parent[0])
            body(Other(0, to_child[0], to_parent[1]))
            status = 0
        finally:
            os._exit(status)
    os.close(to_child[0])
    os.close(to_parent[1])
    other = Other(process, to_parent[0], to_child[1])
    try:
        yield other
    finally:
        other.close()


def content_of(handle: Any) -> str:
    """The bytes of a handle, as they go to another process."""
    return ctypes.string_at(handle.getPtr(), 64).hex()


def handle_of(kind: str, content: str) -> Any:
    """A handle of the bytes that came from another process; `kind`: "Mem" or "Event"."""
    handle = getattr(runtime, f"cudaIpc{kind}Handle_t")()
    data = bytes.fromhex(content)
    ctypes.memmove(handle.getPtr(), data, len(data))
    return handle


def exported_memory(size: int, byte: int) -> tuple[Any, str]:
    """Memory filled with a byte, and the bytes of its handle."""
    memory = ok(runtime.cudaMalloc(size))
    ok(runtime.cudaMemset(memory, byte, size))
    ok(runtime.cudaDeviceSynchronize())
    return memory, content_of(ok(runtime.cudaIpcGetMemHandle(memory)))


def opened_memory(content: str) -> Any:
    return ok(runtime.cudaIpcOpenMemHandle(handle_of("Mem", content), 1))


def bytes_at(pointer: Any, size: int) -> set[int]:
    """The different bytes of device memory, as a copy to the host gives them."""
    host = np.empty(size, np.uint8)
    ok(runtime.cudaMemcpy(host.ctypes.data, pointer, size, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    return set(host.tolist())
