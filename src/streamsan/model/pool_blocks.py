"""Blocks that a program's own pool hands out of memory that it got from the driver."""

from __future__ import annotations

from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread
from streamsan.trace.references import Reference
from streamsan.vocabulary import FreeClass, MemoryKind, OperationKind


def hand_out(
    core: ModelCore, thread: HostThread, site: int, api: str, address: int, size: int, stream: int = 0
) -> None:
    """Say that the pool gives [address, address + size) to somebody; bytes. Nothing happens on the device.

    `stream`: the one whose order the pool relies on, 0 for none.
    """
    core.emit(
        OperationKind.ALLOC,
        thread,
        site,
        api,
        references=[Reference(address, size)],
        stream=stream,
        detail=MemoryKind.POOL_BLOCK,
    )


def take_back(core: ModelCore, thread: HostThread, site: int, api: str, address: int, stream: int = 0) -> None:
    """Say that the pool has the block at an address again; in the order of `stream`, 0 for none."""
    core.emit(
        OperationKind.FREE,
        thread,
        site,
        api,
        references=[Reference(address)],
        detail=FreeClass.POOL_BLOCK,
        stream=stream,
    )


def record_stream(core: ModelCore, thread: HostThread, site: int, api: str, address: int, stream: int) -> None:
    """Say that the pool was told: what was issued to `stream` until now uses the block at an address."""
    core.emit(OperationKind.BLOCK_STREAM, thread, site, api, references=[Reference(address)], stream=stream)
