"""Pools as files that a program passes to another process: the file says which process has the pool."""

from __future__ import annotations

import os
import struct

from streamsan.sim.exchange.messages import TOKEN_SIZE
from streamsan.sim.executor.memory_files import check_file, new_file

_LAYOUT = struct.Struct(f"<8sQ{TOKEN_SIZE}s")
_MAGIC = b"simulPOL"


def pool_file(token: bytes, identity: int) -> int:
    """Return a new file, which the program is to close. Raises OSError."""
    file = new_file(_LAYOUT.size)
    os.pwrite(file, _LAYOUT.pack(_MAGIC, identity, token), 0)
    return file


def is_pool_file(file: int) -> bool:
    """Return whether a file that a program has is one of a pool."""
    try:
        check_file(file, _LAYOUT.size)
        content = os.pread(file, _LAYOUT.size, 0)
    except (OSError, OverflowError):
        return False
    return len(content) == _LAYOUT.size and content.startswith(_MAGIC)
