"""Pools of Python frameworks that tell of their blocks in Python, with a package that stands for CuPy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from expectations import Expectations
from fake_device import FakeDevice, Ran
from interpreters import interpreter
from streamsan.order.recordings import DRIVER_POOLS
from streamsan.recorder.driver_pools import driver_pools

CUPY = '''\
"""Its pool in short: a block that is free goes back to its stream's at once, and the thread's hooks are told."""
import ctypes
import threading

runtime = ctypes.CDLL("libcudart.so.13")
local = threading.local()


def get_memory_hooks():
    if not hasattr(local, "hooks"):
        local.hooks = {}
    return local.hooks


class CurrentStream:
    ptr = property(lambda self: getattr(local, "stream", 0))


def get_current_stream():
    return CurrentStream()


class MemoryHook:
    name = "MemoryHook"

    def __enter__(self):
        if self.name in get_memory_hooks():
            raise KeyError("memory hook %s already exists" % self.name)
        get_memory_hooks()[self.name] = self
        return self

    def __exit__(self, *_):
        del get_memory_hooks()[self.name]

    def alloc_preprocess(self, **kwargs): pass
    def alloc_postprocess(self, **kwargs): pass
    def malloc_preprocess(self, **kwargs): pass
    def malloc_postprocess(self, **kwargs): pass
    def free_preprocess(self, **kwargs): pass
    def free_postprocess(self, **kwargs): pass


def _told(method, **given):
    for hook in get_memory_hooks().values():
        getattr(hook, method)(**given)


class PooledMemory:
    def __init__(self, pool, ptr, size, stream):
        self.pool, self.ptr, self.size, self.stream = pool, ptr, size, stream

    def free(self):
        ptr, self.ptr = self.ptr, 0
        if ptr:
            given = dict(device_id=0, mem_size=self.size, mem_ptr=ptr, pmem_id=id(self))
            _told("free_preprocess", **given)
            self.pool.arenas.setdefault((self.stream, self.size), []).append(ptr)
            _told("free_postprocess", **given)

    __del__ = free


class MemoryPool:
    def __init__(self):
        self.arenas = {}
        self.next = self.end = 0

    def malloc(self, size):
        rounded, stream = -(-size // 512) * 512, getattr(local, "stream", 1)
        _told("malloc_preprocess", device_id=0, size=size, mem_size=rounded)
        unused = self.arenas.setdefault((stream, rounded), [])
        if not unused:
            if self.end - self.next < rounded:
                made = ctypes.c_void_p()
                runtime.cudaMalloc(ctypes.byref(made), ctypes.c_size_t(2 << 20))
                self.next, self.end = made.value, made.value + (2 << 20)
            unused.append(self.next)
            self.next += rounded
        memory = PooledMemory(self, unused.pop(), rounded, stream)
        _told(
            "malloc_postprocess", device_id=0, size=size, mem_size=rounded, mem_ptr=memory.ptr, pmem_id=id(memory)
        )
        return memory


class _DriversMemory(PooledMemory):
    def free(self):
        ptr, self.ptr = self.ptr, 0
        if ptr:
            runtime.cudaFreeAsync(ctypes.c_void_p(ptr), ctypes.c_void_p(self.stream))

    __del__ = free


class MemoryAsyncPool:
    def malloc(self, size):
        made, stream = ctypes.c_void_p(), getattr(local, "stream", 1)
        runtime.cudaMallocAsync(ctypes.byref(made), ctypes.c_size_t(size), ctypes.c_void_p(stream))
        return _DriversMemory(None, made.value, size, stream)


_allocator = MemoryPool().malloc


def set_allocator(allocator):
    global _allocator
    _allocator = allocator


def alloc(size):
    return _allocator(size)
'''
PROGRAM = """\
import ctypes, sys, threading
what = sys.argv[1]
if what.startswith("late"):
    ctypes.CDLL("libcuda.so.1").cuInit(0)
else:
    import cupy
cuda = ctypes.CDLL("libcudart.so.13")
def stream():
    made = ctypes.c_void_p()
    cuda.cudaStreamCreateWithFlags(ctypes.byref(made), 1)
    return made
main, side = stream(), stream()
import cupy
def fill(memory, on):
    cuda.cudaMemsetAsync(ctypes.c_void_p(memory.ptr), 1, ctypes.c_size_t(memory.size), on)
def wait(waiter, other):
    event = ctypes.c_void_p()
    cuda.cudaEventCreate(ctypes.byref(event))
    cuda.cudaEventRecord(event, other)
    cuda.cudaStreamWaitEvent(waiter, event, 0)
    cuda.cudaEventDestroy(event)
def hand_on(before_free=False, after_take=False, on=side):
    cupy.cuda.local.stream = main.value
    batch = cupy.cuda.alloc(4000)
    fill(batch, main)
    wait(on, main)
    fill(batch, on)
    if before_free:
        wait(main, on)
    del batch  # expect: SS105
    following = cupy.cuda.alloc(4000)
    if after_take:
        wait(main, on)
    fill(following, main)
    cuda.cudaStreamSynchronize(main)
    cuda.cudaStreamSynchronize(side)
def in_a_thread(work, **how):
    thread = threading.Thread(target=work, kwargs=how)
    thread.start()
    thread.join()
if what.endswith("wrong"):
    hand_on()
elif what.endswith("thread"):
    in_a_thread(hand_on)
elif what.endswith("odd"):
    (hook,) = cupy.cuda.get_memory_hooks().values()
    print(hook.malloc_postprocess(), hook.free_preprocess(1, 2), hook.free_postprocess(mem_ptr=1, other=hook))
    print(hook.malloc_postprocess(mem_ptr="1", mem_size=512), hook.malloc_postprocess(mem_ptr=512, mem_size=-512))
    print(hook.free_preprocess(mem_ptr=1 << 64), hook.free_preprocess(mem_ptr=None))
    for cupy.cuda.local.stream in ("no number", None):
        print(hook.malloc_postprocess(mem_ptr=512, mem_size=512))
    ptr = cupy.cuda.CurrentStream.ptr
    del cupy.cuda.CurrentStream.ptr
    print(hook.malloc_postprocess(mem_ptr=512, mem_size=512))
    cupy.cuda.CurrentStream.ptr = ptr
    told = cupy.cuda._told  # names of their own, not those that all of the interpreter shares
    cupy.cuda._told = lambda method, **given: told(method, **{"".join(name): given[name] for name in given})
    hand_on()
elif what.endswith("freed"):
    hand_on(before_free=True)
    hand_on(on=main)
else:
    hand_on(before_free=True)
    hand_on(after_take=True)
    hand_on(on=main)
    in_a_thread(hand_on, before_free=True)
    kept = cupy.cuda.alloc(4000)
cuda.cudaDeviceSynchronize()
cuda.cudaStreamDestroy(main)
cuda.cudaStreamDestroy(side)
print(sorted(vars(sys.modules["__main__"])))
print(cupy.__loader__ is cupy.__spec__.loader, type(cupy.__loader__).__name__)
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of installed packages with the one that stands for CuPy."""
    folder = tmp_path_factory.mktemp("env") / "lib" / "python3" / "site-packages"
    (folder / "cupy" / "cuda").mkdir(parents=True)
    (folder / "cupy" / "__init__.py").write_text("from cupy import cuda\n")
    (folder / "cupy" / "cuda" / "__init__.py").write_text(CUPY)
    return folder


def run(
    device: FakeDevice, folder: Path, packages: Path, what: str, *options: str, python: str = sys.executable
) -> Ran:
    (folder / "uses_cupy.py").write_text(PROGRAM)
    environment = {"PYTHONPATH": str(packages)}
    return device.run(folder, [python, "uses_cupy.py", what], *options, environment=environment)


SS105 = {mark for mark in Expectations.of(PROGRAM).loud if mark[1] == "SS105"}


@pytest.mark.parametrize("what", ["wrong", "late-wrong", "thread", "late-thread"])
def test_a_block_of_cupy_that_another_stream_still_uses(
    fake_device: FakeDevice, packages: Path, tmp_path: Path, what: str
) -> None:
    ran = run(fake_device, tmp_path, packages, what)
    assert (ran.status, ran.errors) == (0, "")
    assert ran.loud == SS105, ran.report["findings"]
    (finding,) = [each for each in ran.report["findings"] if each["code"] == "SS105"]
    assert "by a pool, for stream" in next(each["message"] for each in finding["related"] if each["role"] == "alloc")


@pytest.mark.deep
@pytest.mark.parametrize("version", [f"3.{minor}" for minor in range(9, 15) if minor != sys.version_info.minor])
def test_other_pythons(fake_device: FakeDevice, packages: Path, tmp_path: Path, version: str) -> None:
    ran = run(fake_device, tmp_path, packages, "thread", python=interpreter(version))
    assert (ran.status, ran.errors, ran.loud) == (0, "", SS105)


def test_the_hook_takes_any_values(fake_device: FakeDevice, packages: Path, tmp_path: Path) -> None:
    ran = run(fake_device, tmp_path, packages, "odd")
    assert (ran.status, ran.errors, {code for _, code in ran.loud}) == (0, "", {"SS105"})
    assert ran.output.split("[")[0].split() == ["None"] * 10


@pytest.mark.parametrize("what", ["right", "late-right"])
def test_right_programs_with_cupy(fake_device: FakeDevice, packages: Path, tmp_path: Path, what: str) -> None:
    ran = run(fake_device, tmp_path, packages, what)
    assert ran.loud == set(), ran.report["findings"]
    assert "SS401" not in ran.codes  # what a framework keeps is its own
    alone = fake_device.alone(str(tmp_path / "uses_cupy.py"), what, program=sys.executable, PYTHONPATH=str(packages))
    assert (ran.status, ran.output) == (alone.returncode, alone.stdout)


def test_the_drivers_pools_instead_of_their_own(fake_device: FakeDevice, packages: Path, tmp_path: Path) -> None:
    ran = run(fake_device, tmp_path, packages, "late-wrong", "--pools", "driver")
    assert {code for _, code in ran.loud} == {"SS102"}, ran.report["findings"]
    assert DRIVER_POOLS in {each["message"] for each in ran.report["summary"]["problems"]}
    assert run(fake_device, tmp_path, packages, "late-freed", "--pools", "driver").loud == set()


def test_frameworks_are_told_by_their_own_variables() -> None:
    given = driver_pools({b"TF_GPU_ALLOCATOR": b"other", b"PYTORCH_CUDA_ALLOC_CONF": b"max_split_size_mb:64"})
    assert given == {
        b"XLA_PYTHON_CLIENT_ALLOCATOR": b"cuda_async",
        b"PYTORCH_CUDA_ALLOC_CONF": b"max_split_size_mb:64,backend:cudaMallocAsync",
        b"PYTORCH_ALLOC_CONF": b"backend:cudaMallocAsync",
    }
    assert b"PYTORCH_CUDA_ALLOC_CONF" not in driver_pools({b"PYTORCH_ALLOC_CONF": b"backend:native"})


def test_the_environment_is_left_alone_otherwise(fake_device: FakeDevice, tmp_path: Path) -> None:
    words = "import os; print(sorted(name for name in os.environ if name.endswith(('ALLOC_CONF', 'ALLOCATOR'))))"
    said = {
        pools: fake_device.run(tmp_path, [sys.executable, "-c", words], "--pools", pools, checked=False).output.strip()
        for pools in ("own", "driver")
    }
    assert said["own"] == "[]"
    assert said["driver"].count("_ALLOC") == 4
