"""A cache of device buffers that evicts the oldest one when it is full."""

from collections import OrderedDict

from cuda.bindings import runtime as cudart
from gpu_common import check

NBYTES = 1 << 16


class BufferCache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.buffers = OrderedDict()

    def get(self, key):
        if key in self.buffers:
            self.buffers.move_to_end(key)
            return self.buffers[key]
        if len(self.buffers) >= self.capacity:
            _, oldest = self.buffers.popitem(last=False)
            check(cudart.cudaFree(oldest))
        self.buffers[key] = check(cudart.cudaMalloc(NBYTES))
        return self.buffers[key]

    def clear(self):
        while self.buffers:
            check(cudart.cudaFree(self.buffers.popitem()[1]))


def main():
    cache = BufferCache(capacity=2)
    weights = cache.get("weights")
    for step in range(3):
        activations = cache.get(f"activations {step}")
        check(cudart.cudaMemset(activations, step, NBYTES))
        check(cudart.cudaDeviceSynchronize())
    weights = cache.get("weights")
    check(cudart.cudaMemset(weights, 0, NBYTES))
    check(cudart.cudaDeviceSynchronize())
    cache.clear()


if __name__ == "__main__":
    main()
