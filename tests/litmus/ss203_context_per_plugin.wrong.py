"""Each plugin has a context of its own; the host frees what a plugin gave it."""

from cuda.bindings import driver
from gpu_common import check


class Plugin:
    def __init__(self, device):
        self.context = check(driver.cuCtxCreate(None, 0, device))
        self.result = None

    def compute(self, nbytes):
        check(driver.cuCtxSetCurrent(self.context))
        self.result = check(driver.cuMemAlloc(nbytes))
        check(driver.cuMemsetD8(self.result, 1, nbytes))
        check(driver.cuCtxSynchronize())

    def close(self):
        check(driver.cuCtxDestroy(self.context))


def main():
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    first, second = Plugin(device), Plugin(device)
    first.compute(4096)
    second.compute(4096)
    for plugin in (first, second):
        check(driver.cuMemFree(plugin.result))  # expect: SS203
    first.close()
    second.close()


if __name__ == "__main__":
    main()
