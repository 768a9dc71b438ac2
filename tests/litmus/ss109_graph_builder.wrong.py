"""A graph built by hand: a fill, a copy of it, and a second fill of the source for the next round."""

from cuda.bindings import runtime as cudart
from gpu_common import check

NBYTES = 8192
TO_DEVICE = cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice


class GraphBuilder:
    def __init__(self):
        self.graph = check(cudart.cudaGraphCreate(0))

    def fill(self, pointer, value, after=()):
        params = cudart.cudaMemsetParams()
        params.dst = pointer
        params.value = value
        params.elementSize = 1
        params.width = NBYTES
        params.height = 1
        return check(cudart.cudaGraphAddMemsetNode(self.graph, list(after), len(after), params))  # expect: SS109

    def copy(self, target, source, after=()):
        return check(
            cudart.cudaGraphAddMemcpyNode1D(self.graph, list(after), len(after), target, source, NBYTES, TO_DEVICE)
        )


def main():
    current, shadow = check(cudart.cudaMalloc(NBYTES)), check(cudart.cudaMalloc(NBYTES))
    builder = GraphBuilder()
    filled = builder.fill(current, 1)
    builder.copy(shadow, current, after=[filled])
    builder.fill(current, 2, after=[filled])
    executable = check(cudart.cudaGraphInstantiate(builder.graph, 0))
    stream = check(cudart.cudaStreamCreate())
    for _ in range(3):
        check(cudart.cudaGraphLaunch(executable, stream))
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaGraphExecDestroy(executable))
    check(cudart.cudaGraphDestroy(builder.graph))
    check(cudart.cudaFree(shadow))
    check(cudart.cudaFree(current))


if __name__ == "__main__":
    main()
