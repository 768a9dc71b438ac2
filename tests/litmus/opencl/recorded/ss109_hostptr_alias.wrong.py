"""A table in the host's own memory: a kernel updates it there while a copy of it is taken for the archive."""

import sys

import numpy as np
import pyopencl as cl

WORDS = 1 << 13

UPDATE = "kernel void update(global int *table, int by) { table[get_global_id(0)] += by; }"


def main():
    ctx = cl.create_some_context(interactive=False)
    compute, backup = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    update = cl.Kernel(cl.Program(ctx, UPDATE).build(), "update")
    table = np.arange(WORDS, dtype=np.int32)
    live = cl.Buffer(ctx, cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR, hostbuf=table)
    archive = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, table.nbytes)
    update(compute, (WORDS,), None, live, np.int32(3))
    compute.flush()
    cl.enqueue_copy(backup, archive, live)  # expect: SS109
    backup.finish()
    result = np.empty_like(table)
    cl.enqueue_copy(backup, result, archive)
    compute.finish()
    same = np.array_equal(result, np.arange(WORDS) + 3)
    print("ok" if same else "archive differs")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
