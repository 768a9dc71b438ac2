"""A simulation that allocates its scratch memory anew for each of its steps."""

from cuda.bindings import runtime as cudart
from gpu_common import check

NBYTES = 1 << 16
STEPS = 200


class Solver:
    def __init__(self):
        self.stream = check(cudart.cudaStreamCreate())
        self.state = check(cudart.cudaMalloc(NBYTES))
        self.scratch = check(cudart.cudaMalloc(NBYTES))

    def step(self, number):
        scratch = self.scratch
        check(cudart.cudaMemsetAsync(scratch, number % 256, NBYTES, self.stream))
        kind = cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        check(cudart.cudaMemcpyAsync(self.state, scratch, NBYTES, kind, self.stream))
        check(cudart.cudaStreamSynchronize(self.stream))

    def close(self):
        check(cudart.cudaFree(self.scratch))
        check(cudart.cudaFree(self.state))
        check(cudart.cudaStreamDestroy(self.stream))


def main():
    solver = Solver()
    for number in range(STEPS):
        solver.step(number)
    solver.close()


if __name__ == "__main__":
    main()
