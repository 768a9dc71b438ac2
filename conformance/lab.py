"""What a case works with: the bindings, a kernel that keeps a stream busy, words to compare, other processes."""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from conformance.companion import Companion, start_companion
from conformance.kernels import SOURCE
from conformance.observer import GpuObserver, Observer, Pending, SimulatedObserver, now
from conformance.registry import Observations

SIZE = 4 << 20
"""bytes of a buffer, where a case names none: larger than the units that a driver divides"""
PAGE = 4096
SUCCESS = 0
_PORTABLE_AND_MAPPED = 3
_FLAGS = PAGE // 4


class FailedError(Exception):
    """A call that the case needs failed. `str()` names it and the status."""


class Lab:
    """One case's laboratory. What it makes stays: the process, or the reset between two cases, takes it away."""

    def __init__(self, platform: str, milliseconds: int, devices: int, image_path: str = "") -> None:
        """Prepare nothing: CUDA is first used by `start`. `platform`: "gpu" or "sim".

        `image_path`: a file in which the processes of a run keep their compiled kernels.
        """
        self.image_path = image_path
        self.platform = platform
        self.milliseconds = milliseconds
        """how long a kernel of `busy` runs"""
        self.devices = devices
        self.observer: Observer = GpuObserver() if platform == "gpu" else SimulatedObserver()
        # By name, and now: on the simulated device these are other modules for each session.
        driver, nvrtc, runtime = (
            importlib.import_module(f"cuda.bindings.{name}") for name in ("driver", "nvrtc", "runtime")
        )

        self.rt: Any = runtime
        self.cu: Any = driver
        self._nvrtc: Any = nvrtc
        self.h2d = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
        self.d2h = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
        self.d2d = runtime.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        self.h2h = runtime.cudaMemcpyKind.cudaMemcpyHostToHost
        self.default = runtime.cudaMemcpyKind.cudaMemcpyDefault
        self._image = b""
        self._modules: dict[int, Any] = {}
        self._kept: list[Any] = []
        self._page: mmap.mmap | None = None
        self._flags: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._flag_address = 0
        self._next_flag = 0

    # -- beginning --------------------------------------------------------------------------------
    def start(self) -> None:
        """Initialise CUDA in this process, with the primary context of device 0 current."""
        self.ok(self.rt.cudaFree(0))
        self._flags_on_device()
        self.kernel("spin")
        if self.platform == "gpu":
            self._warm_up()

    def prepare_driver(self) -> None:
        """Prepare `busy` in a program that uses the driver API alone, in its current context."""
        address = self._flag_pages()
        self.ok(self.cu.cuMemHostRegister(address, PAGE, _PORTABLE_AND_MAPPED))
        self._flag_address = int(self.ok(self.cu.cuMemHostGetDevicePointer(address, 0)))

    def _flags_on_device(self) -> None:
        address = self._flag_pages()
        self.ok(self.rt.cudaHostRegister(address, PAGE, _PORTABLE_AND_MAPPED))
        self._flag_address = int(self.ok(self.rt.cudaHostGetDevicePointer(address, 0)))

    def _flag_pages(self) -> int:
        """Return words of the host for kernels to set. The pages are this process's own: they outlive any reset."""
        self._page = mmap.mmap(-1, PAGE)
        self._flags = np.frombuffer(self._page, np.uint32)
        return int(self._flags.ctypes.data)

    def _warm_up(self) -> None:
        """Make first uses, which are slow, before anything is timed."""
        rt, stream = self.rt, self.stream()
        blocks = [self.ok(rt.cudaMallocAsync(SIZE, stream)), self.ok(rt.cudaMalloc(SIZE))]
        host = self.ok(rt.cudaMallocHost(SIZE))
        managed = self.ok(rt.cudaMallocManaged(SIZE, rt.cudaMemAttachGlobal))
        page = np.zeros(SIZE, np.uint8)
        for to, source, kind in (
            (blocks[1], host, self.h2d),
            (host, blocks[1], self.d2h),
            (blocks[1], page.ctypes.data, self.h2d),
            (page.ctypes.data, blocks[1], self.d2h),
            (blocks[1], blocks[0], self.d2d),
        ):
            self.ok(rt.cudaMemcpyAsync(to, source, SIZE, kind, stream))
        for target in (*blocks, host, managed):
            self.ok(rt.cudaMemsetAsync(target, 0, SIZE, stream))
        # A kernel's first launch loads it, which may wait for the whole context.
        self.launch("spin", stream, (1000, self._flag_address), (ctypes.c_ulonglong, ctypes.c_void_p))
        self.ok(self.write_words(blocks[0], 0, stream, PAGE))
        self.ok(self.copy_words(blocks[1], blocks[0], stream, PAGE))
        self.ok(rt.cudaFreeAsync(blocks[0], stream))
        self.ok(rt.cudaStreamSynchronize(stream))
        self.ok(rt.cudaFree(blocks[1]))
        self.ok(rt.cudaFree(managed))
        self.ok(rt.cudaFreeHost(host))

    # -- statuses ---------------------------------------------------------------------------------
    @staticmethod
    def status(result: Sequence[Any]) -> str:
        """Return the name of the status of a call."""
        found = result[0]
        return str(getattr(found, "name", found))

    def ok(self, result: Sequence[Any]) -> Any:
        """Return what a call gives beside its status. Raises FailedError."""
        if int(result[0]) != SUCCESS:
            raise FailedError(self.status(result))
        return result[1] if len(result) == 2 else tuple(result[1:])

    # -- streams and work -------------------------------------------------------------------------
    def stream(self, blocking: bool = False) -> Any:
        """Return a new stream; a non-blocking one unless told otherwise."""
        return self.ok(self.rt.cudaStreamCreateWithFlags(0 if blocking else self.rt.cudaStreamNonBlocking))

    def event(self, stream: Any = None) -> Any:
        """Return a new event, recorded in a stream if one is given."""
        event = self.ok(self.rt.cudaEventCreateWithFlags(self.rt.cudaEventDisableTiming))
        if stream is not None:
            self.ok(self.rt.cudaEventRecord(event, stream))
        return event

    def after(self, later: Any, earlier: Any) -> None:
        """Order what is issued to a stream from here on after what another one has now."""
        self.ok(self.rt.cudaStreamWaitEvent(later, self.event(earlier), 0))

    def kernel(self, name: str) -> Any:
        """Return a kernel for the current context."""
        return self.ok(self.cu.cuModuleGetFunction(self.module(), name.encode()))

    def module(self) -> Any:
        """Return the module of all kernels, loaded into the current context."""
        if not self._image:
            self._image = self._cached() or self._compiled()
        context = int(self.ok(self.cu.cuCtxGetCurrent()))
        if context not in self._modules:
            self._modules[context] = self.ok(self.cu.cuModuleLoadData(self._image))
        return self._modules[context]

    def _cached(self) -> bytes:
        """Return what another process of this run has compiled, b"" if there is nothing yet."""
        with suppress(OSError):
            if self.image_path:
                return Path(self.image_path).read_bytes()
        return b""

    def _compiled(self) -> bytes:
        nvrtc = self._nvrtc
        image: bytes
        program = self.ok(nvrtc.nvrtcCreateProgram(SOURCE, b"conformance.cu", 0, [], []))
        if self.platform == "gpu":
            # Machine code: the driver may be older than the compiler, and then refuses its PTX.
            self.ok(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=sm_{self._capability()}".encode()]))
            image = b" " * self.ok(nvrtc.nvrtcGetCUBINSize(program))
            self.ok(nvrtc.nvrtcGetCUBIN(program, image))
        else:
            self.ok(nvrtc.nvrtcCompileProgram(program, 0, []))
            image = b" " * self.ok(nvrtc.nvrtcGetPTXSize(program))
            self.ok(nvrtc.nvrtcGetPTX(program, image))
        if self.image_path:
            own = Path(f"{self.image_path}.{os.getpid()}")
            own.write_bytes(image)
            own.replace(self.image_path)
        return image

    def _capability(self) -> int:
        """Return the compute capability of device 0, as 90 for 9.0."""
        names = ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR")
        major, minor = (
            int(
                self.ok(
                    self.cu.cuDeviceGetAttribute(getattr(self.cu.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), 0)
                )
            )
            for name in names
        )
        return 10 * major + minor

    def launch(
        self, name: str, stream: Any, values: tuple[Any, ...], types: tuple[Any, ...], grid: int = 1, block: int = 1
    ) -> None:
        """Launch a kernel. Raises FailedError."""
        self.ok(self.try_launch(name, stream, values, types, grid, block))

    def try_launch(
        self, name: str, stream: Any, values: tuple[Any, ...], types: tuple[Any, ...], grid: int = 1, block: int = 1
    ) -> Any:
        """Launch a kernel; return what the call gives."""
        function = self.kernel(name)
        return self.cu.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, int(stream), (values, types), 0)

    def busy(self, stream: Any, factor: float = 1.0) -> Pending:
        """Keep a stream busy: from here on, if it is idle, for the time that a kernel of the case runs."""
        seconds = self.milliseconds * factor / 1000
        pending = Pending(self._flags, self._next_flag % _FLAGS, now(), seconds)
        self._next_flag += 1
        self._flags[pending.index] = 0
        self.launch("spin", stream, *self.spin_arguments(pending))
        return pending

    def spin_arguments(self, pending: Pending) -> tuple[tuple[int, int], tuple[Any, Any]]:
        """Return values and types of the arguments of the kernel that a `Pending` stands for."""
        return (
            (int(pending.seconds * 1e9), self._flag_address + 4 * pending.index),
            (ctypes.c_ulonglong, ctypes.c_void_p),
        )

    def write_words(self, target: Any, value: int, stream: Any, size: int = SIZE) -> Any:
        """Launch a kernel that writes one value to all words; return what the call gives."""
        return self.try_launch(
            "write_words",
            stream,
            (int(target), value, size // 4),
            (ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint),
            64,
            256,
        )

    def copy_words(self, to: Any, source: Any, stream: Any, size: int = SIZE) -> Any:
        """Launch a kernel that copies words; return what the call gives."""
        return self.try_launch(
            "copy_words",
            stream,
            (int(to), int(source), size // 4),
            (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint),
            64,
            256,
        )

    # -- time -------------------------------------------------------------------------------------
    def timed(self, pending: Pending, call: Callable[[], Sequence[Any]]) -> tuple[str, bool]:
        """Make a call while a kernel is pending; return its status, and whether it waited for the kernel."""
        began = now()
        result = call()
        waited = self.observer.waited(pending, began, now())
        return self.status(result), waited

    def waited(self, pending: Pending, call: Callable[[], Sequence[Any]]) -> Observations:
        """Make a call while a kernel is pending; return the two observations `status` and `waited`."""
        status, waited = self.timed(pending, call)
        return {"status": status, "waited": waited}

    def waits(self, stream: Any, calls: Mapping[str, Callable[[], Sequence[Any]]]) -> Observations:
        """Make one call after the other, each behind a kernel of a stream; return whether it waited for that kernel."""
        observed: Observations = {}
        for name, call in calls.items():
            pending = self.busy(stream)
            _, observed[name] = self.timed(pending, call)
            self.ok(self.rt.cudaDeviceSynchronize())
        return observed

    def repeated(self, stream: Any, call: Callable[[], Sequence[Any]]) -> Observations:
        """Make a call, whose first use may be slow; then observe `waited` of it behind a kernel of a stream."""
        self.ok(call())
        self.ok(self.rt.cudaDeviceSynchronize())
        return self.waited(self.busy(stream), call)

    # -- memory -----------------------------------------------------------------------------------
    def plain(self, size: int = SIZE, byte: int | None = None) -> Any:
        """Return memory of cudaMalloc, filled if a byte is given."""
        pointer = self.ok(self.rt.cudaMalloc(size))
        return pointer if byte is None else self.filled(pointer, byte, size)

    def pooled(self, stream: Any, size: int = SIZE, byte: int | None = None) -> Any:
        """Return memory of cudaMallocAsync, filled if a byte is given (then it waits)."""
        pointer = self.ok(self.rt.cudaMallocAsync(size, stream))
        return pointer if byte is None else self.filled(pointer, byte, size, stream)

    def pinned(self, size: int = SIZE) -> Any:
        """Return memory of cudaMallocHost."""
        return self.ok(self.rt.cudaMallocHost(size))

    def managed(self, size: int = SIZE) -> Any:
        """Return managed memory."""
        return self.ok(self.rt.cudaMallocManaged(size, self.rt.cudaMemAttachGlobal))

    def pageable(self, size: int = SIZE) -> npt.NDArray[np.uint8]:
        """Return whole pages of the host's heap, touched; the lab keeps them."""
        memory = mmap.mmap(-1, max(size, PAGE))
        pages = np.frombuffer(memory, np.uint8)[:size]
        pages[:] = 0
        self._kept.append(pages)
        return pages

    def host_bytes(self, address: Any, size: int = SIZE) -> npt.NDArray[np.uint8]:
        """Return a view of host memory."""
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(int(address)))

    def filled(self, pointer: Any, byte: int, size: int = SIZE, stream: Any = 0) -> Any:
        """Fill memory and wait for it; return the pointer."""
        self.ok(self.rt.cudaMemsetAsync(pointer, byte, size, stream))
        self.ok(self.rt.cudaStreamSynchronize(stream))
        return pointer

    def pool(self, **attributes: int) -> Any:
        """Return a new pool of device 0 that keeps what it has; attributes are set by their names."""
        properties = self.rt.cudaMemPoolProps()
        properties.allocType = self.rt.cudaMemAllocationType.cudaMemAllocationTypePinned
        properties.location.type = self.rt.cudaMemLocationType.cudaMemLocationTypeDevice
        properties.location.id = 0
        pool = self.ok(self.rt.cudaMemPoolCreate(properties))
        attributes = {"cudaMemPoolAttrReleaseThreshold": 1 << 40, **attributes}
        for name, value in attributes.items():
            self.set_pool(pool, name, value)
        return pool

    def set_pool(self, pool: Any, name: str, value: int) -> None:
        """Set an attribute of a pool."""
        attribute = getattr(self.rt.cudaMemPoolAttr, name)
        kind = self.cu.cuuint64_t if "Reuse" not in name else int
        self.ok(self.rt.cudaMemPoolSetAttribute(pool, attribute, kind(value)))

    def get_pool(self, pool: Any, name: str) -> int:
        """Return an attribute of a pool."""
        return int(self.ok(self.rt.cudaMemPoolGetAttribute(pool, getattr(self.rt.cudaMemPoolAttr, name))))

    def from_pool(self, pool: Any, stream: Any, size: int = SIZE) -> Any:
        """Return memory of a pool."""
        return self.ok(self.rt.cudaMallocFromPoolAsync(size, pool, stream))

    # -- words ------------------------------------------------------------------------------------
    def read_later(self, source: Any, stream: Any, size: int = SIZE) -> Any:
        """Issue a kernel that copies words; return where its result will be."""
        result = self.plain(size)
        self.ok(self.copy_words(result, source, stream, size))
        return result

    def wrong(self, pointer: Any, byte: int, size: int = SIZE) -> str:
        """Wait for all work; return how many words are not made of a byte: "none", "some" or "all"."""
        self.ok(self.rt.cudaDeviceSynchronize())
        host = np.empty(size // 4, np.uint32)
        self.ok(self.rt.cudaMemcpy(host.ctypes.data, pointer, size, self.d2h))
        return self.amount(host, byte)

    @staticmethod
    def amount(words: npt.NDArray[Any], byte: int) -> str:
        """Return how many words are not made of a byte: "none", "some" or "all"."""
        values = words.view(np.uint32)
        wrong = int((values != byte * 0x01010101).sum())
        return "none" if not wrong else "all" if wrong == values.size else "some"

    # -- graphs and captures ----------------------------------------------------------------------
    def begin_capture(self, stream: Any, mode: str = "Global") -> None:
        """Begin a capture."""
        self.ok(self.rt.cudaStreamBeginCapture(stream, self.capture_mode(mode)))

    def capture_mode(self, mode: str) -> Any:
        """Return a mode of capture by the last word of its name."""
        return getattr(self.rt.cudaStreamCaptureMode, f"cudaStreamCaptureMode{mode}")

    def end_capture(self, stream: Any) -> Any:
        """End a capture; return its graph."""
        return self.ok(self.rt.cudaStreamEndCapture(stream))

    def instantiate(self, graph: Any, flags: int = 0) -> Any:
        """Return an executable graph."""
        return self.ok(self.rt.cudaGraphInstantiate(graph, flags))

    def memory_graph(self, stream: Any, *, frees: bool = False, byte: int = 1, size: int = SIZE) -> tuple[Any, Any]:
        """Capture an allocation and its fill; return the graph and the pointer."""
        self.begin_capture(stream)
        pointer = self.ok(self.rt.cudaMallocAsync(size, stream))
        self.ok(self.rt.cudaMemsetAsync(pointer, byte, size, stream))
        if frees:
            self.ok(self.rt.cudaFreeAsync(pointer, stream))
        return self.end_capture(stream), pointer

    def graph_bytes(self, name: str) -> int:
        """Return an attribute of graphs' memory on device 0, by the last word of its name."""
        attribute = getattr(self.rt.cudaGraphMemAttributeType, f"cudaGraphMemAttr{name}")
        return int(self.ok(self.rt.cudaDeviceGetGraphMemAttribute(0, attribute)))

    # -- host functions, threads, processes ---------------------------------------------------------
    def host_function(self, stream: Any, body: Callable[[], None]) -> Any:
        """Issue a host function; return what the call gives."""
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: body())
        self._kept.append(function)
        address = ctypes.cast(function, ctypes.c_void_p).value
        return self.rt.cudaLaunchHostFunc(stream, self.rt.cudaHostFn_t(address), 0)

    def on_thread(self, call: Callable[[], Any]) -> Any:
        """Make a call on another host thread, with this one's context current; return what it gives.

        What it raises is raised here.
        """
        results: list[Any] = []
        errors: list[BaseException] = []
        context = self.ok(self.cu.cuCtxGetCurrent())

        def run() -> None:
            try:
                self.ok(self.cu.cuCtxSetCurrent(context))
                results.append(call())
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
        return results[0]

    @staticmethod
    def fork(body: Callable[[Companion], int | None]) -> Companion:
        """Run a function in a forked process, which ends with the status that it returns."""
        return start_companion(body)
