"""Prints the cost of a Python stack's site that was seen before. Usage: python_cost.py PROBE [COUNT]."""
# ruff: noqa: D103, UP031

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.probe_cost.restype = ctypes.c_double
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000


def at_depth(depth):
    return at_depth(depth - 1) if depth > 1 else library.probe_cost(COUNT)


for frames in (1, 4, 8, 15, 30):
    print("%d frames: %.1f ns" % (frames + 1, at_depth(frames)))
