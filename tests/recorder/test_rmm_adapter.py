"""RMM's pools, which tell of their blocks in Python, with a package that stands for RMM."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from expectations import Expectations
from fake_device import FakeDevice, Ran

RMM = '''\
"""Its interface in Python in short; its resources are compiled, and hold what `_memory_resource` gives them."""
from rmm import mr
from rmm.pylibrmm.memory_resource._memory_resource import DeviceBuffer, _initialize


def reinitialize(pool_allocator=False, managed_memory=False, initial_pool_size=None, maximum_pool_size=None, devices=0):
    _initialize(pool_allocator, devices)
'''
COMPILED = '''\
import ctypes

runtime = ctypes.CDLL("libcudart.so.13")
devices = {}


class Stream:
    def __init__(self, handle=0):
        self.handle = handle.value if isinstance(handle, ctypes.c_void_p) else handle

    def __cuda_stream__(self):
        return (0, self.handle)


DEFAULT_STREAM = Stream()


class DeviceMemoryResource:
    def allocate(self, nbytes, stream=DEFAULT_STREAM):
        return self._allocate(nbytes, stream)

    def deallocate(self, ptr, nbytes, stream=DEFAULT_STREAM):
        self._deallocate(ptr, nbytes, stream)


class UpstreamResourceAdaptor(DeviceMemoryResource):
    def __init__(self, upstream_mr, **sizes):
        self.upstream_mr = upstream_mr

    def get_upstream(self):
        return self.upstream_mr

    def _allocate(self, nbytes, stream):
        return self.upstream_mr.allocate(nbytes, stream)

    def _deallocate(self, ptr, nbytes, stream):
        self.upstream_mr.deallocate(ptr, nbytes, stream)


class CudaMemoryResource(DeviceMemoryResource):
    def _allocate(self, nbytes, stream):
        made = ctypes.c_void_p()
        runtime.cudaMalloc(ctypes.byref(made), ctypes.c_size_t(nbytes))
        return made.value

    def _deallocate(self, ptr, nbytes, stream):
        runtime.cudaFree(ctypes.c_void_p(ptr))


class PoolMemoryResource(UpstreamResourceAdaptor):
    """One list for all streams, as a pool that waits for nothing would have it: the real one waits on events."""

    def __init__(self, upstream_mr, initial_pool_size=None, maximum_pool_size=None):
        super().__init__(upstream_mr)
        self.base = upstream_mr.allocate(1 << 20, DEFAULT_STREAM)
        self.unused = [self.base + 4096 * number for number in range(4)]

    def pool_size(self):
        return 1 << 20

    def _allocate(self, nbytes, stream):
        return self.unused.pop()

    def _deallocate(self, ptr, nbytes, stream):
        self.unused.append(ptr)


class StatisticsResourceAdaptor(UpstreamResourceAdaptor):
    pass


class CallbackMemoryResource(DeviceMemoryResource):
    def __init__(self, allocate_func, deallocate_func):
        self._allocate, self._deallocate = allocate_func, deallocate_func


def set_per_device_resource(device, mr):
    devices[device] = mr


def set_current_device_resource(mr):
    devices[0] = mr


def get_per_device_resource(device):
    return devices.setdefault(device, CudaMemoryResource())


def get_current_device_resource():
    return devices.setdefault(0, CudaMemoryResource())


def _initialize(pool_allocator, which):
    devices.clear()
    for device in [which] if isinstance(which, int) else which:
        upstream = CudaMemoryResource()
        devices[device] = PoolMemoryResource(upstream) if pool_allocator else upstream


class DeviceBuffer:
    def __init__(self, *, size, stream=DEFAULT_STREAM, mr=None):
        self.size, self.stream, self.mr = size, stream, mr or devices.setdefault(0, CudaMemoryResource())
        self.ptr = self.mr.allocate(size, stream)

    def __del__(self):
        self.mr.deallocate(self.ptr, self.size, self.stream)
'''
INTERFACE = """\
from rmm.pylibrmm.memory_resource._memory_resource import (
    CallbackMemoryResource,
    CudaMemoryResource,
    PoolMemoryResource,
    StatisticsResourceAdaptor,
    get_current_device_resource,
    get_per_device_resource,
    set_current_device_resource,
    set_per_device_resource,
)
"""
PROGRAM = """\
import ctypes, sys
what = sys.argv[1]
if what.startswith("late"):
    ctypes.CDLL("libcuda.so.1").cuInit(0)
import rmm
from rmm.pylibrmm.memory_resource._memory_resource import Stream
cuda = ctypes.CDLL("libcudart.so.13")
def stream():
    made = ctypes.c_void_p()
    cuda.cudaStreamCreateWithFlags(ctypes.byref(made), 1)
    return made
if "first" in what:
    rmm.mr.set_current_device_resource(
        rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=1 << 20)
    )
main, side = stream(), stream()
if "first" in what:
    pass
elif "reinitialize" in what:
    rmm.reinitialize(pool_allocator=True)
else:
    pool = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=1 << 20)
    mine = rmm.mr.StatisticsResourceAdaptor(pool) if "adaptor" in what else pool
    if "device" in what:
        rmm.mr.set_per_device_resource(0, mine)
    else:
        rmm.mr.set_current_device_resource(mine)
    assert rmm.mr.get_current_device_resource() is mine
    assert rmm.mr.get_per_device_resource(0) is mine
    assert pool.pool_size() == 1 << 20
def fill(memory, on):
    cuda.cudaMemsetAsync(ctypes.c_void_p(memory.ptr), 1, ctypes.c_size_t(memory.size), on)
def wait(waiter, other):
    event = ctypes.c_void_p()
    cuda.cudaEventCreate(ctypes.byref(event))
    cuda.cudaEventRecord(event, other)
    cuda.cudaStreamWaitEvent(waiter, event, 0)
    cuda.cudaEventDestroy(event)
def hand_on(right):
    batch = rmm.DeviceBuffer(size=4000, stream=Stream(main))
    fill(batch, main)
    wait(side, main)
    fill(batch, side)
    if right:
        wait(main, side)
    del batch  # expect: SS105
    following = rmm.DeviceBuffer(size=4000, stream=Stream(main))
    fill(following, main)
    cuda.cudaDeviceSynchronize()
hand_on("right" in what)
cuda.cudaStreamDestroy(main)
cuda.cudaStreamDestroy(side)
print(sys.gettrace(), sorted(vars(sys.modules["__main__"])), type(rmm.mr.get_current_device_resource()).__name__)
"""
SS105 = Expectations.of(PROGRAM).loud


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of installed packages with the one that stands for RMM."""
    folder = tmp_path_factory.mktemp("env") / "lib" / "python3" / "site-packages"
    compiled = folder / "rmm" / "pylibrmm" / "memory_resource"
    compiled.mkdir(parents=True)
    (folder / "rmm" / "mr").mkdir()
    (folder / "rmm" / "__init__.py").write_text(RMM)
    (folder / "rmm" / "mr" / "__init__.py").write_text(INTERFACE)
    (folder / "rmm" / "pylibrmm" / "__init__.py").write_text("")
    (compiled / "__init__.py").write_text("")
    (compiled / "_memory_resource.py").write_text(COMPILED)
    return folder


def run(device: FakeDevice, folder: Path, packages: Path, what: str) -> Ran:
    (folder / "uses_rmm.py").write_text(PROGRAM)
    return device.run(folder, [sys.executable, "uses_rmm.py", what], environment={"PYTHONPATH": str(packages)})


@pytest.mark.parametrize(
    "what", ["wrong", "first-wrong", "late-wrong", "adaptor-wrong", "device-wrong", "reinitialize-wrong"]
)
def test_a_block_of_rmm_that_another_stream_still_uses(
    fake_device: FakeDevice, packages: Path, tmp_path: Path, what: str
) -> None:
    ran = run(fake_device, tmp_path, packages, what)
    assert (ran.status, ran.errors) == (0, "")
    assert ran.loud == SS105, ran.report["findings"]
    (finding,) = [each for each in ran.report["findings"] if each["code"] == "SS105"]
    assert "in the order of stream" in next(each["message"] for each in finding["related"] if each["role"] == "free")


@pytest.mark.parametrize("what", ["right", "first-right", "late-adaptor-right", "reinitialize-right"])
def test_right_programs_with_rmm(fake_device: FakeDevice, packages: Path, tmp_path: Path, what: str) -> None:
    ran = run(fake_device, tmp_path, packages, what)
    assert ran.loud == set(), ran.report["findings"]
    alone = fake_device.alone(str(tmp_path / "uses_rmm.py"), what, program=sys.executable, PYTHONPATH=str(packages))
    assert (ran.status, ran.output) == (alone.returncode, alone.stdout)
