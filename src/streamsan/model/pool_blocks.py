"""Blocks that a program's own pool hands out of memory that it got from the driver."""

from __future__ import annotations

from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread
from streamsan.trace.references import Reference
from streamsan.vocabulary import FreeClass, MemoryKind, OperationKind


def hand_out(core: ModelCore, thread: HostThread, site: int, api: str, address: int, size: int) -> None:
    """Say that the pool gives [address, address + size) to somebody; bytes. Nothing happens on the device."""
    core.emit(
        OperationKind.ALLOC,
        thread,
        site,
        api,
        references=[Reference(address, size)],
        detail=MemoryKind.POOL_BLOCK,
    )


def take_back(core: ModelCore, thread: HostThread, site: int, api: str, address: int) -> None:
    """Say that the pool has the block at an address again."""
    core.emit(OperationKind.FREE, thread, site, api, references=[Reference(address)], detail=FreeClass.POOL_BLOCK)
