"""What cases with two processes do: export, send a handle, open it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from conformance.companion import Companion
from conformance.lab import Lab

_HANDLE = 64


def content_of(handle: Any) -> str:
    """Return the bytes of a handle as hexadecimal digits."""
    return ctypes.string_at(handle.getPtr(), _HANDLE).hex()


def handle_of(kind: Any, content: str) -> Any:
    """Return a handle of bytes that came from another process."""
    handle = kind()
    ctypes.memmove(handle.getPtr(), bytes.fromhex(content), _HANDLE)
    return handle


def open_memory(lab: Lab, content: str) -> Any:
    """Open a handle of memory; return what the call gives."""
    return lab.rt.cudaIpcOpenMemHandle(handle_of(lab.rt.cudaIpcMemHandle_t, content), 1)


def be_exporter(lab: Lab, parent: Companion, *, byte: int = 5) -> Any:
    """Be the exporter: give the handle of 4 MiB; return the memory."""
    lab.start()
    memory = lab.plain(byte=byte)
    parent.send(content_of(lab.ok(lab.rt.cudaIpcGetMemHandle(memory))))
    return memory


def exporter(lab: Lab, *answers: Callable[[Any], object]) -> Callable[[Companion], int]:
    """Return what an exporter does: it answers as often as the importer asks, then holds its memory for a word more.

    `answers`: what it does with its memory then, and what it says.
    """

    def child(parent: Companion) -> int:
        memory = be_exporter(lab, parent)
        for answer in answers:
            parent.receive()
            parent.send(answer(memory))
        parent.receive()
        return 0

    return child


def be_importer(lab: Lab, child: Callable[[Companion], int]) -> tuple[Companion, str]:
    """Start the exporter, and be the importer: return it and what it sends first."""
    companion = lab.fork(child)
    content = companion.receive()
    lab.start()
    return companion, content


def import_memory(lab: Lab, child: Callable[[Companion], int]) -> tuple[Companion, Any]:
    """Start the exporter and open its memory: return both."""
    companion, content = be_importer(lab, child)
    return companion, lab.ok(open_memory(lab, content))
