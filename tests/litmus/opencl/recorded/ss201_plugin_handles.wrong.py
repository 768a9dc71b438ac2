"""Effect plug-ins receive raw cl_mem handles (as integers) and wrap them again."""

import sys

import numpy as np
import pyopencl as cl

N = 10000

SRC = """
kernel void echo(global int *s, int delay_n, int n)
{
    int i = get_global_id(0);
    if (i < delay_n) for (int k = i + delay_n; k < n; k += delay_n) s[k] += s[k - delay_n] / 2;
}
"""


class Host:
    def __init__(self):
        self.ctx = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.ctx)
        prog = cl.Program(self.ctx, SRC).build()
        self.effects = {k.function_name: k for k in prog.all_kernels()}


class Plugin:
    def __init__(self, host, name, parameter):
        self.host = host
        self.kernel = host.effects[name]
        self.parameter = np.int32(parameter)
        self.mem = None

    def attach(self, handle):
        self.mem = cl.MemoryObject.from_int_ptr(handle, retain=False)

    def apply(self):
        self.kernel(self.host.queue, (N,), None, self.mem, self.parameter, np.int32(N))

    def detach(self):
        self.mem.release()


def run_chain(host, chain, signal):
    mf = cl.mem_flags
    buf = cl.Buffer(host.ctx, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=signal)
    out = np.empty_like(signal)
    for plugin in chain:
        plugin.attach(buf.int_ptr)
        plugin.apply()
    cl.enqueue_copy(host.queue, out, buf)
    for plugin in chain:
        plugin.detach()
    buf.release()  # expect: SS201
    return out


def reference(signal, delay):
    s = [int(v) for v in signal]
    for k in range(delay, len(s)):
        s[k] += int(s[k - delay] / 2)
    return np.array(s, np.int32)


def main():
    host = Host()
    chain = [Plugin(host, "echo", 400)]
    bad = 0
    for k in range(3):
        signal = ((np.arange(N) * (k + 5)) % 1999 - 999).astype(np.int32)
        bad += not np.array_equal(run_chain(host, chain, signal), reference(signal, 400))
    print("ok" if not bad else f"{bad} signals differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
