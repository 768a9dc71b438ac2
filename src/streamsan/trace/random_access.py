"""A regular file opened for reads at any place, bounds-checked."""

from __future__ import annotations

import os
import stat
import weakref
from typing import Any

import numpy as np

from streamsan.trace.errors import TraceError


class RandomAccessFile:
    """Reads with `pread`, never with a mapping.

    A file cut short under a mapping kills the process with SIGBUS, and mapped pages count as resident memory. Here a
    short file is an error, and memory is only what the caller gave.

    The size is taken once: what is appended later is not seen. The descriptor closes with the last user of the object.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            # O_NONBLOCK: opening a named pipe must not wait for a writer.
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            raise TraceError(path, "no such file") from None
        except OSError as error:
            raise TraceError(path, f"cannot be opened: {error.strerror}") from None
        except ValueError:
            raise TraceError(path, "not a file name") from None
        self.close = weakref.finalize(self, os.close, self._descriptor)
        status = os.fstat(self._descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise TraceError(path, "is a directory, not an .sst trace")
        if not stat.S_ISREG(status.st_mode):
            raise TraceError(path, "is not a regular file")
        self.size = status.st_size

    def read(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset`; both must lie inside the file."""
        buffer = np.empty(size, np.uint8)
        self.read_into(offset, buffer)
        return buffer.tobytes()

    def read_into(self, offset: int, array: np.ndarray[Any, Any]) -> None:
        """Fill a contiguous array from `offset`."""
        # A structured dtype exports no simple buffer, hence the view as bytes.
        view = memoryview(array.view(np.uint8).data)
        done = 0
        while done < len(view):
            try:
                count = os.preadv(self._descriptor, [view[done:]], offset + done)
            except OSError as error:
                raise TraceError(self.path, f"cannot be read: {error.strerror}") from None
            if count == 0:
                raise TraceError(self.path, "became shorter while it was read")
            done += count
