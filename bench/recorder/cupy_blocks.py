"""Arrays made and dropped: blocks that CuPy's pool hands out again and again. Prints the microseconds of one.

`cupy_blocks.py STEPS ROUNDS` runs by itself, `cupy_blocks.py serve` runs what its input asks for (served.py). A step is
1,000 arrays of three sizes; a few of them are alive at a time.
"""

import collections

import cupy
from served import StandIn, workload

stand_in = StandIn()
SIZES = (1 << 10, 1 << 14, 1 << 18)
"""elements"""
IN_A_STEP = 1000
alive: collections.deque[cupy.ndarray] = collections.deque(maxlen=8)


def step() -> None:
    """Make and drop arrays: the ninth that is made takes the first one's place."""
    for k in range(IN_A_STEP):
        alive.append(cupy.empty(SIZES[k % len(SIZES)], dtype=cupy.float32))


workload(stand_in, step, cupy.cuda.Device().synchronize, first=3, steps=100, in_a_step=IN_A_STEP)
