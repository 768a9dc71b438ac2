"""Blocks of PyTorch's allocator made and dropped, by its library alone: `told_blocks.py` counts their instructions.

`allocator_blocks.py LIBRARY RUNTIME FUNCTIONS BLOCKS FRAMES`: FUNCTIONS are the places of what is called, beside that
of the variable that holds the allocator. A few blocks are alive at a time, as in `tensors.py`.
"""

import collections
import ctypes
import sys

library, runtime, places, blocks, frames = sys.argv[1:]
ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
loaded = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
variable = ctypes.c_void_p.in_dll(loaded, "_ZN3c104cuda20CUDACachingAllocator9allocatorE")
pointer, size = ctypes.c_void_p, ctypes.c_size_t
begin_at, take_at, give_at = (ctypes.addressof(variable) + int(place) for place in places.split(","))
take = ctypes.CFUNCTYPE(pointer, pointer, size)(take_at)
give = ctypes.CFUNCTYPE(None, pointer, pointer)(give_at)
allocator = variable.value
ctypes.CFUNCTYPE(None, pointer, ctypes.c_int)(begin_at)(allocator, 1)
SIZES = (1 << 10, 1 << 14, 1 << 18)
alive = collections.deque()


def step(count):
    """Make blocks, and drop those that were made eight before."""
    for k in range(count):
        alive.append(take(allocator, SIZES[k % len(SIZES)]))
        if len(alive) > 8:
            give(allocator, alive.popleft())


def deeper(frames, count):
    """Do it so many frames further in."""
    if frames > 0:
        return deeper(frames - 1, count)
    return step(count)


for count in (1000, 1000, int(blocks)):
    deeper(int(frames), count)
