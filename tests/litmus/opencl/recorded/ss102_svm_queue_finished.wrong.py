"""Ray bundles in shared virtual memory: traced on one queue, tallied on another, then given back."""

import sys

import numpy as np
import pyopencl as cl

RAYS = 1 << 13

TRACE = """
kernel void trace(global const int *seed, global int *hit)
{
    int i = get_global_id(0), x = seed[i];
    for (int k = 0; k < 400; k++) x = x * 1664525 + 1013904223;
    hit[i] = x & 1023;
}
"""


def bundle(ctx, dtype=np.int32):
    return cl.svm_empty(ctx, cl.svm_mem_flags.READ_WRITE, RAYS, dtype)


def main():
    ctx = cl.create_some_context(interactive=False)
    traced, tallied = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    kernel = cl.Kernel(cl.Program(ctx, TRACE).build(options=["-cl-std=CL2.0"]), "trace")
    seeds, hits = bundle(ctx), bundle(ctx)
    with cl.SVM(seeds).map_rw(traced) as view:
        view[:] = np.arange(RAYS)
    copied = np.empty(RAYS, np.int32)
    kernel(traced, (RAYS,), None, cl.SVM(seeds), cl.SVM(hits))
    traced.flush()
    cl.enqueue_barrier(tallied)
    tallied.finish()
    seeds.base.release()  # expect: SS102
    traced.finish()
    cl.enqueue_copy(traced, copied, cl.SVM(hits))

    want = np.arange(RAYS, dtype=np.uint32)
    for _ in range(400):
        want = want * np.uint32(1664525) + np.uint32(1013904223)
    same = np.array_equal(copied, (want & 1023).astype(np.int32))
    print("ok" if same else "hits differ")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
