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
from typing import Any, Callable, Dict, Optional  # noqa: UP035

LIBRARY: str = globals().get("LIBRARY", "")
"""the recorder's library, which is loaded"""
DRIVER_POOLS: bool = globals().get("DRIVER_POOLS", False)
"""`--pools driver`: frameworks are to take the driver's pools"""


def _attach_to_cupy(cupy: Any) -> None:
    """CuPy's pool tells by hooks, which each thread has for itself; that of the driver needs no words."""
    if DRIVER_POOLS:
        cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
        return
    # The interpreter's lock is kept: the recorder never asks for it.
    recorder = ctypes.PyDLL(LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    hand_out, take_back = recorder.streamsan_cupy_hand_out_1, recorder.streamsan_cupy_take_back_1
    hand_out.argtypes = (ctypes.c_uint64, ctypes.c_uint64)
    take_back.argtypes = (ctypes.c_uint64,)
    hand_out.restype = take_back.restype = None

    class Blocks(cupy.cuda.MemoryHook):  # type: ignore[misc]
        """Hears of each block of CuPy's pool."""

        name = "streamsan"

        def malloc_postprocess(self, mem_ptr: int = 0, mem_size: int = 0, **_others: Any) -> None:
            """A block has an owner."""
            if mem_ptr and mem_size:
                hand_out(mem_ptr, mem_size)

        def free_preprocess(self, mem_ptr: int = 0, **_others: Any) -> None:
            """It is about to be the pool's again."""
            if mem_ptr:
                take_back(mem_ptr)

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


ADAPTERS: Dict[str, Callable[[Any], None]] = {"cupy": _attach_to_cupy}  # noqa: UP006


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
                attach(framework)
    if finder._wanted:
        sys.meta_path.insert(0, finder)


if LIBRARY:
    _attach()
