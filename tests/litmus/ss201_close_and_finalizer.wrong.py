"""A buffer that can be closed early, and that a finaliser closes otherwise."""

from cuda.bindings import runtime as cudart
from gpu_common import check


class DeviceBuffer:
    def __init__(self, nbytes):
        self.nbytes = nbytes
        self.pointer = check(cudart.cudaMalloc(nbytes))

    def close(self):
        cudart.cudaFree(self.pointer)  # expect: SS201

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def main():
    with DeviceBuffer(4096) as image:
        check(cudart.cudaMemset(image.pointer, 0, image.nbytes))
        check(cudart.cudaDeviceSynchronize())
        image.close()


if __name__ == "__main__":
    main()
