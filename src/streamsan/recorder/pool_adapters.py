"""Runs inside recorded programs: pools of Python frameworks tell of their blocks by what they offer in Python.

The recorder gives this text to the program's own interpreter, of 3.6 or newer, when CUDA is initialised
(native/recorder/cuda/python_adapters.cpp). Nothing else of this package is there. A framework is attached to when it
has been imported; what it cannot do is left, and never reaches the program.
"""

import ctypes
import os
import sys
import threading
from contextlib import suppress
from importlib import util
from typing import Any, Callable, Dict, List, Optional  # noqa: UP035

LIBRARY: str = globals().get("LIBRARY", "")
"""the recorder's library, which is loaded"""
DRIVER_POOLS: bool = globals().get("DRIVER_POOLS", False)
"""`--pools driver`: frameworks are to take the driver's pools"""


def _function(name: str) -> Any:
    """Return a function of the recorder. The interpreter's lock is kept: the recorder never asks for it."""
    return getattr(ctypes.PyDLL(LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_LAZY), name)


def _procedure(name: str, numbers: int) -> Callable[..., None]:
    """Return a function of the recorder that takes numbers."""
    found = _function(name)
    found.argtypes = (ctypes.c_uint64,) * numbers
    found.restype = None
    return found  # type: ignore[no-any-return]


def _attach_to_cupy(cupy: Any) -> None:
    """CuPy's pool tells by hooks, which each thread has for itself; that of the driver needs no words."""
    if DRIVER_POOLS:
        cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
        return
    if sys.version_info < (3, 7):  # noqa: UP036 - calls functions of C otherwise; its CuPy is of 2021
        return
    make = _function("streamsan_cupy_hook_1")
    make.argtypes, make.restype = (ctypes.py_object,), ctypes.py_object
    hands_out, takes_back, not_told = make(cupy.cuda.get_current_stream)

    class Blocks(cupy.cuda.MemoryHook):  # type: ignore[misc]
        """Hears of each block of CuPy's pool, by functions of the recorder (native/recorder/cuda/cupy_hook.cpp)."""

        name = "streamsan"
        malloc_postprocess = hands_out
        free_preprocess = takes_back
        alloc_preprocess = alloc_postprocess = malloc_preprocess = free_postprocess = not_told

    blocks = Blocks()
    blocks.__enter__()
    _in_each_thread(blocks.__enter__)


def _in_each_thread(begin: Callable[[], object]) -> None:
    """Call a function first in each thread that begins from now on."""
    original = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def _bootstrap_inner(self: Any) -> None:
        with suppress(Exception):
            begin()
        original(self)

    threading.Thread._bootstrap_inner = _bootstrap_inner  # type: ignore[attr-defined]


def _at_next_lines(do: Callable[[], bool]) -> None:
    """Call a function at the next lines that this thread comes to, until it returns True, or a few were in vain.

    The interpreter stopped in the middle of a line, where a function may wait for its arguments that was looked up
    before it was patched. Where something else traces the program, it is not disturbed.
    """
    frame: Any = sys._getframe(1)
    frames: List[Any] = []  # noqa: UP006
    left = 64
    while frame is not None and len(frames) < left:
        frames.append(frame)
        frame = frame.f_back
    if sys.gettrace() is not None:
        return

    def trace(_frame: Any, _event: str, _arg: Any) -> Any:
        nonlocal left
        left -= 1
        if left and not do():
            return trace
        for each in frames:
            if each.f_trace is trace:
                each.f_trace = None
        frames.clear()
        if sys.gettrace() is trace:
            sys.settrace(None)
        return None

    for each in frames:
        if each.f_trace is None:
            each.f_trace = trace
    sys.settrace(trace)


class _RmmPools:
    """RMM's resources that cut blocks from larger memory: each that becomes a device's is put into one that tells.

    The program meets its own ones only. Memory that it takes from a resource which is no device's is not told. To make
    the first pool may initialise CUDA: then this begins in the middle of `set_current_device_resource(pool)`.
    """

    POOLS = "PoolMemoryResource", "ArenaMemoryResource", "FixedSizeMemoryResource", "BinningMemoryResource"

    def __init__(self, rmm: Any) -> None:
        self.mr = rmm.mr
        self.hand_out, self.take_back = (
            _procedure("streamsan_rmm_hand_out_1", 3),
            _procedure("streamsan_rmm_take_back_1", 2),
        )
        self.kinds = tuple(getattr(self.mr, name) for name in self.POOLS if hasattr(self.mr, name))
        self.told: Dict[int, Any] = {}  # noqa: UP006
        self.own = {name: getattr(self.mr, name) for name in self.patches()}
        self.take_over()
        patches = self.patches()
        patches["reinitialize"], self.own["reinitialize"] = self.reinitialize, rmm.reinitialize
        for module in [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "rmm"]:
            for name, patch in patches.items():
                if getattr(module, name, None) is self.own[name]:
                    setattr(module, name, patch)

    def take_over(self) -> bool:
        """Let the device's resource tell, if it is a pool. Return whether one does."""
        with suppress(Exception):  # where there is no device
            current = self.own["get_current_device_resource"]()
            if not self.told and self.is_pool(current):
                self.own["set_current_device_resource"](self.telling(current))
        return bool(self.told)

    def patches(self) -> Dict[str, Callable[..., Any]]:  # noqa: UP006
        """Return what takes the place of RMM's functions."""
        return {
            "set_per_device_resource": lambda device, mr: self.own["set_per_device_resource"](device, self.telling(mr)),
            "set_current_device_resource": lambda mr: self.own["set_current_device_resource"](self.telling(mr)),
            "get_per_device_resource": lambda device: self.programs(self.own["get_per_device_resource"](device)),
            "get_current_device_resource": lambda: self.programs(self.own["get_current_device_resource"]()),
        }

    def reinitialize(self, *arguments: Any, **named: Any) -> Any:
        """Let RMM make its devices' resources anew."""
        result = self.own["reinitialize"](*arguments, **named)
        devices = named.get("devices", arguments[4] if len(arguments) > 4 else 0)
        for device in [0] if devices is None else [devices] if isinstance(devices, int) else devices:
            made = self.own["get_per_device_resource"](device)
            self.own["set_per_device_resource"](device, self.telling(made))
        return result

    def is_pool(self, mr: Any) -> bool:
        """Tell whether a resource, or one that it hands its requests on to, cuts blocks from larger memory."""
        while mr is not None and not isinstance(mr, self.kinds):
            mr = mr.get_upstream() if hasattr(mr, "get_upstream") else None
        return mr is not None

    def programs(self, mr: Any) -> Any:
        """Return what the program made a device's resource."""
        return self.told.get(id(mr), (mr, mr))[1]

    def telling(self, mr: Any) -> Any:
        """Return a resource that does what `mr` does and tells of it; `mr` itself where that is not needed."""
        if id(mr) in self.told or not self.is_pool(mr):
            return mr

        def allocate(size: int, stream: Any) -> int:
            address = int(mr.allocate(size, stream))
            if address and size:
                self.hand_out(address, -(-size // 256) * 256, self.number(stream))
            return address

        def deallocate(address: int, size: int, stream: Any) -> None:
            # First: as soon as the pool has it another thread may get it.
            if address and size:
                self.take_back(address, self.number(stream))
            mr.deallocate(address, size, stream)

        made = self.mr.CallbackMemoryResource(allocate, deallocate)
        self.told[id(made)] = made, mr
        return made

    @staticmethod
    def number(stream: Any) -> int:
        """Return a stream as traces name it."""
        return int(stream.__cuda_stream__()[1]) or 1


ADAPTERS: Dict[str, Callable[[Any], object]] = {"cupy": _attach_to_cupy, "rmm": _RmmPools}  # noqa: UP006


class _Loader:
    """Loads a framework as its own loader does, then attaches to it. The module has its own loader, not this one."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        """Make the module."""
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        """Run the module."""
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        with suppress(Exception):
            ADAPTERS[module.__name__](module)


class _Finder:
    """Finds nothing by itself: what is found for a framework is loaded by a `_Loader`."""

    def __init__(self) -> None:
        self._wanted = set(ADAPTERS)

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Optional[Any]:  # noqa: UP045
        """Answer for frameworks only, once."""
        if name not in self._wanted:
            return None
        self._wanted.discard(name)
        spec = util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


def _attach() -> None:
    """Attach to the frameworks that are there, and to the others when they come."""
    finder = _Finder()
    for name, attach in ADAPTERS.items():
        framework = sys.modules.get(name)
        if framework is not None:
            finder._wanted.discard(name)
            with suppress(Exception):
                made = attach(framework)
                if isinstance(made, _RmmPools):
                    _at_next_lines(made.take_over)
    if finder._wanted:
        sys.meta_path.insert(0, finder)


if LIBRARY:
    _attach()
