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

The calls are heard by `streamsan sim`, `streamsan.testing.device` and `streamsan run`; else they do nothing.
PyTorch's pool needs no such calls. Pools in C and C++ have `streamsan.h`.
"""

from __future__ import annotations

from pathlib import Path

from streamsan.pools.listeners import listener


def folder() -> str:
    """Return the folder that `streamsan.h` is in."""
    return str(Path(__file__).parent)


def hand_out(address: int, size: int) -> None:
    """Say that the pool gives the `size` bytes at `address` to somebody. Its last user may use them no more.

    Being handed out takes no time and waits for nothing. What counts is that work which uses the bytes from now on is
    ordered behind the work that used them before.
    """
    heard = listener()
    if heard is not None:
        heard.hand_out(address, size)


def take_back(address: int) -> None:
    """Say that the pool has the block at `address` again, the address that was handed out."""
    heard = listener()
    if heard is not None:
        heard.take_back(address)
