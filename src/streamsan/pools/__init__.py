"""For programs with a pool of their own: what it hands out, and what it takes back.

A pool gets memory from CUDA and gives parts of it to its users. CUDA hears of none of that, so nobody who watches CUDA
can tell when a part has another owner. A pool that says so is checked as the driver's own are (SS105):

    class Pool:
        def take(self, size):
            address = self.find(size)
            streamsan.pools.hand_out(address, size)
            return address

        def give(self, address):
            streamsan.pools.take_back(address)
            self.put(address)

A pool that has a stream for each block names it in both calls. What its users tell it, that another stream uses a block
as well, it passes on:

        def record_stream(self, address, stream):
            streamsan.pools.record_stream(address, stream)
            self.streams[address].add(stream)

What a block holds when it is handed out is not defined: `streamsan run --poison` may overwrite it before its first use.
A pool that clears its blocks does so after `hand_out`.

The calls are heard by `streamsan sim`, `streamsan.testing.device` and `streamsan run`; else they do nothing.
PyTorch's pool needs no such calls. Pools in C and C++ have `streamsan.h`.
"""

from __future__ import annotations

from pathlib import Path

from streamsan.pools.listeners import listener
from streamsan.pools.stream_numbers import number_of


def folder() -> str:
    """Return the folder that `streamsan.h` is in."""
    return str(Path(__file__).parent)


def hand_out(address: int, size: int, stream: object = None) -> None:
    """Say that the pool gives the `size` bytes at `address` to somebody. Its last user may use them no more.

    Being handed out takes no time and waits for nothing. What counts is that work which uses the bytes from now on is
    ordered behind the work that used them before.

    `stream` is the one whose order the pool relies on: it gives the bytes to that stream's next user without a wait.
    The report names it; it makes no order. Streams are handles, or objects of CUDA's bindings, PyTorch, CuPy or any
    library with `__cuda_stream__`; 0 is the default stream, None is none.
    """
    number, heard = number_of(stream), listener()
    if heard is not None:
        heard.hand_out(address, size, number)


def take_back(address: int, stream: object = None) -> None:
    """Say that the pool has the block at `address` again, the address that was handed out; in the order of `stream`."""
    number, heard = number_of(stream), listener()
    if heard is not None:
        heard.take_back(address, number)


def record_stream(address: int, stream: object) -> None:
    """Say that what was issued to `stream` until now uses the block at `address` too, whoever can see that it does.

    The pool may give the bytes to work that is ordered behind it, and to no other. Where a use on that stream is seen,
    it counts instead.
    """
    number, heard = number_of(stream), listener()
    if heard is not None and number:
        heard.record_stream(address, number)
