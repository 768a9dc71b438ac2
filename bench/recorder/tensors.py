"""Tensors made and dropped: blocks that PyTorch's allocator hands out again and again. Prints the microseconds of one.

`tensors.py STEPS ROUNDS` runs by itself, `tensors.py serve` runs what its input asks for (served.py). A step is 1,000
tensors of three sizes; a few of them are alive at a time.
"""

import collections

import torch
from served import StandIn, workload

stand_in = StandIn()
SIZES = (1 << 10, 1 << 14, 1 << 18)
"""elements"""
IN_A_STEP = 1000
alive: collections.deque[torch.Tensor] = collections.deque(maxlen=8)


def step() -> None:
    """Make and drop tensors: the ninth that is made takes the first one's place."""
    for k in range(IN_A_STEP):
        alive.append(torch.empty(SIZES[k % len(SIZES)], device="cuda"))


workload(stand_in, step, torch.cuda.synchronize, first=3, steps=100, in_a_step=IN_A_STEP)
