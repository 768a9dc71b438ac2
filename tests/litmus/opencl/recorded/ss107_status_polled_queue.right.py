"""The host polls the status of a download's event, then lets another queue overwrite its source."""

import sys

import numpy as np
import pyopencl as cl

WORDS = 1 << 14


def main():
    ctx = cl.create_some_context(interactive=False)
    downloads, clears = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    values = np.arange(WORDS, dtype=np.int32)
    data = cl.Buffer(ctx, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
    result = np.empty_like(values)
    downloaded = cl.enqueue_copy(downloads, result, data, is_blocking=False)
    downloads.flush()
    downloaded.wait()
    cl.enqueue_fill_buffer(clears, data, np.int32(0), 0, data.size)
    clears.finish()
    downloads.finish()
    same = np.array_equal(result, values)
    print("ok" if same else "download differs")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
