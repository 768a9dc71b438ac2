"""Kernels: which ones there are by handle, what a launch gives them, and what its model arguments are."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from streamsan.kernels.uses import Start
from streamsan.model.values import Pointer, Value
from streamsan.sim.device_program import DeviceVariable, KernelParameter, KernelType, Program
from streamsan.sim.executor.host_bytes import is_mapped
from streamsan.sim.kernel_bodies import Argument, Body, Dimensions, SimulatedKernel
from streamsan.vocabulary import AccessMode

if TYPE_CHECKING:
    from streamsan.model.state import Context

BODIES = "SIMULATED_KERNELS"
"""The variable in which a script's main module gives bodies of kernels, by name."""

AT_ONCE = "begins_at_once"
"""The attribute by which a body says that its kernel does not wait for the kernel before it (programmatic dependent
launch), or that it does, where the kernel's own code does not tell."""

SUCCESS = 0
INVALID_VALUE = 1
INVALID_HANDLE = 400
NOT_FOUND = 500

_END, _BUFFER, _BUFFER_SIZE = 0, 1, 2
"""CU_LAUNCH_PARAM_*"""
_MOST_BUFFER = 1 << 16

Guard = Callable[[Callable[[], None]], None]
"""Runs a function during which the program may not call CUDA."""


@dataclass(slots=True, eq=False)
class Module:
    """A loaded module or library."""

    handle: int
    program: Program
    context: Context | None
    """None: a library, which is of no context"""
    alive: bool = True
    functions: dict[str, Function] = field(default_factory=dict)
    """lowered name -> function"""
    variables: dict[str, tuple[Pointer, int]] = field(default_factory=dict)
    """those that were asked for: lowered name -> address and size"""

    @property
    def usable(self) -> bool:
        """Whether its functions can be used."""
        return self.alive and (self.context is None or self.context.alive)


@dataclass(slots=True, eq=False)
class Function:
    """A kernel of a loaded module: CUfunction, CUkernel and cudaKernel_t are one handle."""

    handle: int
    module: Module
    kernel: KernelType
    attributes: dict[int, int] = field(default_factory=dict)
    """those that were set"""

    @property
    def name(self) -> str:
        """The kernel's name as the source writes it."""
        return self.kernel.name


@dataclass(frozen=True, slots=True)
class Launch:
    """What a launch's arguments mean."""

    status: int
    kernel_arguments: tuple[tuple[Value, AccessMode, int], ...] = ()
    early_arguments: tuple[tuple[Value, AccessMode, int], ...] | None = None
    """what the kernel uses before it may wait for the kernel before it; None: it waits first, or nobody knows"""
    payload: SimulatedKernel | None = None
    problem: str = ""
    """why the arguments could not be read: memory that the kernel uses is not seen"""


class Kernels:
    """The modules, libraries, kernels and functions that the program loaded. Callers hold the session's lock."""

    def __init__(
        self,
        fresh_handle: Callable[[], int],
        guard: Guard,
        not_understood: Callable[[str], None],
        place_variables: Callable[[Module], None],
    ) -> None:
        """Begin without any; `place_variables` gives the device variables of a module their memory."""
        self._fresh_handle = fresh_handle
        self._guard = guard
        self._not_understood = not_understood
        self._noted: set[int] = set()
        self._place_variables = place_variables
        self._modules: dict[int, Module] = {}
        self._functions: dict[int, Function] = {}
        self.bodies: dict[str, Body] = {}
        """bodies by kernel name, before those of the script's own SIMULATED_KERNELS"""

    def register(self, bodies: Mapping[str, Body]) -> None:
        """Give bodies of kernels by name. Raises TypeError for what cannot be called."""
        for name, body in bodies.items():
            if not callable(body):
                raise TypeError(f"the body of kernel '{name}' is not a function")
        self.bodies.update(bodies)

    # -- modules ----------------------------------------------------------------------------------
    def load(self, program: Program, context: Context | None) -> Module:
        """Load a program."""
        module = Module(self._fresh_handle(), program, context)
        self._modules[module.handle] = module
        return module

    def module(self, handle: object) -> Module | None:
        """Return a loaded module or library by its handle."""
        found = self._modules.get(number_of(handle))
        return found if found is not None and found.usable else None

    def unload(self, module: Module) -> None:
        """Unload: its functions are no longer valid."""
        module.alive = False

    def function_of(self, module: Module, name: str) -> Function | None:
        """Return the function of a name: as the linker knows it, as the source writes it, or as an expression."""
        kernel = _named(module.program, name)
        if kernel is None:
            return None
        found = module.functions.get(kernel.lowered)
        if found is None:
            found = Function(self._fresh_handle(), module, kernel)
            module.functions[kernel.lowered] = found
            self._functions[found.handle] = found
        return found

    def functions_of(self, module: Module) -> list[Function]:
        """Return all functions of a module."""
        found = (self.function_of(module, kernel.lowered) for kernel in module.program.kernels)
        return [function for function in found if function is not None]

    def function(self, handle: object) -> Function | None:
        """Return a function by its handle, None when it is none, or none any more."""
        found = self._functions.get(number_of(handle))
        return found if found is not None and found.module.usable else None

    # -- launches ---------------------------------------------------------------------------------
    def launch(
        self,
        function: object,
        kernel_params: object = None,
        extra: object = 0,
        *,
        grid: Sequence[int] = (1, 1, 1),
        block: Sequence[int] = (1, 1, 1),
        shared: int = 0,
    ) -> Launch:
        """Return what a launch means to the model: references with access modes, and how to compute it.

        Raises TypeError for parameters of a kind that the bindings do not take.
        """
        found = self.function(function)
        if found is None:
            return Launch(INVALID_HANDLE)
        parameters = found.kernel.parameters
        problem = ""
        arguments: list[Argument] | None
        if kernel_params is None or (isinstance(kernel_params, int) and kernel_params == 0):
            arguments = _from_extra(number_of(extra or 0), parameters)
            if arguments is None:
                return Launch(INVALID_VALUE)
        elif isinstance(kernel_params, tuple | list):
            arguments = _from_values(kernel_params, parameters)
        else:
            arguments = _from_addresses(_table_address(kernel_params), parameters)
            if parameters is None:
                problem = f"nobody can tell how many arguments `{found.name}` has: the memory it uses is not seen"
            if arguments is None and parameters is not None:
                return Launch(INVALID_VALUE)
        arguments = arguments or []
        if parameters and not arguments:
            return Launch(INVALID_VALUE)
        dimensions = Dimensions(_three(grid), _three(block), int(shared))
        if problem and found.handle not in self._noted:
            self._noted.add(found.handle)
            self._not_understood(problem)
        if found.module.program.variables and self.body_of(found.kernel) is not None:
            self._place_variables(found.module)
        payload = SimulatedKernel(
            found.kernel,
            tuple(arguments),
            dimensions,
            self.body_of,
            self._guard,
            _variables_of(found.module),
            found.module.context,
        )
        references = tuple(_references(arguments))
        start = self._start_of(found.kernel)
        early = references if start is Start.AT_ONCE else None if start is Start.WAITS else tuple(_early(arguments))
        return Launch(SUCCESS, references, early, payload, problem)

    def _start_of(self, kernel: KernelType) -> Start:
        """Return what a kernel does before it may wait: as its body in Python declares, else as its own code says."""
        declared = getattr(self.body_of(kernel), AT_ONCE, None)
        return kernel.start if declared is None else Start.AT_ONCE if declared else Start.WAITS

    def body_of(self, kernel: KernelType) -> Body | None:
        """Return the Python body of a kernel, None when nobody gave one."""
        main = vars(sys.modules.get("__main__", sys)).get(BODIES)
        for bodies in (self.bodies, main):
            if isinstance(bodies, Mapping):
                for name in (kernel.name, kernel.plain, kernel.lowered, *sorted(kernel.aliases)):
                    if name in bodies:
                        return bodies[name]
        return None


def _variables_of(module: Module) -> dict[str, int]:
    """Return the addresses of a module's variables that have some, by both of their names."""
    found = {name: pointer.address for name, (pointer, _) in module.variables.items()}
    return found | {one.name: found[one.lowered] for one in module.program.variables if one.lowered in found}


def variable_of(module: Module, name: str) -> DeviceVariable | None:
    """Return the device variable of a name."""
    for variable in module.program.variables:
        if name in (variable.lowered, variable.name):
            return variable
    return None


def _named(program: Program, name: str) -> KernelType | None:
    # Imported late: a program that only loads PTX needs no grammar.
    from streamsan.sim.mangling import base_name

    for kernel in program.kernels:
        if name == kernel.lowered:
            return kernel
    for kernel in program.kernels:
        if name == kernel.name or name in kernel.aliases:
            return kernel
    written = base_name(name)
    wanted = name if written is None else written
    matches = [kernel for kernel in program.kernels if kernel.name.partition("<")[0] == wanted]
    if not matches and written is None:
        matches = [kernel for kernel in program.kernels if kernel.plain == wanted]
    if matches:
        return matches[0]
    return KernelType(written or name, name) if program.any_kernel else None


# -- from what the program gave to bytes ---------------------------------------------------------------
def number_of(value: object) -> int:
    """Return the number of a handle, or of whatever else stands for one."""
    if value is None:
        return 0
    if isinstance(value, int):
        return int(value)
    if hasattr(value, "__int__"):
        return int(value)
    raise TypeError(f"a handle is wanted, not {type(value).__name__}")


def _three(numbers: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (int(number) for number in numbers)
    return x, y, z


def _from_values(given: Sequence[Any], parameters: tuple[KernelParameter, ...] | None) -> list[Argument]:
    """Read `((values...), (types...))`, as cuda.bindings packs them."""
    if len(given) == 0:
        return []
    if len(given) != 2:
        raise TypeError("kernelParams is a tuple of a tuple of values and a tuple of their types")
    values, types = given
    if not isinstance(values, tuple | list):
        values, types = (values,), (types,)
    if len(values) != len(types):
        raise TypeError("kernelParams has as many types as values")
    arguments = []
    for position, (value, kind) in enumerate(zip(values, types, strict=True)):
        parameter = parameters[position] if parameters is not None and position < len(parameters) else None
        data = _packed(value, kind, 8 if parameter is None else parameter.size)
        if parameter is not None and len(data) < parameter.size:
            # The driver would read on behind the value: what lies there is not the program's.
            data = data.ljust(parameter.size, b"\0")
        arguments.append(Argument(parameter, data, _pointer_in(value)))
    return arguments


def _packed(value: Any, kind: Any, size: int) -> bytes:
    if kind is ctypes.c_void_p:
        return _address_in(value).to_bytes(8, "little")
    if kind is not None:
        if isinstance(value, ctypes._SimpleCData):
            value = value.value
        if not isinstance(kind, type) or not issubclass(kind, ctypes._SimpleCData):
            raise TypeError(f"Unsupported type: {kind}")
        if issubclass(kind, ctypes.c_char) and isinstance(value, int):
            return bytes([value & 0xFF])
        if issubclass(kind, ctypes.c_ulonglong | ctypes.c_ulong | ctypes.c_longlong):
            value = number_of(value)
        return bytes(kind(value))
    if isinstance(value, ctypes.Structure | ctypes.Union | ctypes.Array | ctypes._SimpleCData):
        return bytes(value)
    if isinstance(value, IntEnum):
        return int(value).to_bytes(4, "little", signed=value < 0)
    if hasattr(value, "getPtr"):
        if hasattr(value, "__int__"):
            return (int(value) & (1 << 64) - 1).to_bytes(8, "little")
        return _bytes_at(int(value.getPtr()), size) or b""
    # As cuda.bindings: a plain number needs its ctypes type.
    raise TypeError(f"a kernel argument of type {type(value).__name__} needs a ctypes type beside it, not None")


def _address_in(value: Any) -> int:
    """Return what a `c_void_p` argument is: a number, or where an object of the bindings lies.

    A CUdeviceptr is such an object: its own place is passed, not the number in it, as cuda.bindings does.
    """
    if isinstance(value, ctypes.c_void_p):
        value = value.value or 0
    if not isinstance(value, int):
        if not callable(getattr(value, "getPtr", None)):
            raise TypeError(f"a kernel argument of type {type(value).__name__} is no address (c_void_p)")
        value = value.getPtr()
    return int(value) & ((1 << 64) - 1)


def _pointer_in(value: object) -> Pointer | None:
    """Return the allocation that an address object of the bindings remembers."""
    for holder in (value, getattr(value, "_number", None), getattr(value, "_held", None)):
        found = getattr(holder, "pointer", None)
        if isinstance(found, Pointer):
            return found
    return None


def _table_address(given: object) -> int:
    """Return the address of a `void*[]` given as a number or in a buffer."""
    if hasattr(given, "__int__") and not getattr(given, "ndim", 0):
        return number_of(given)
    try:
        view = memoryview(given)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"kernelParams of type {type(given).__name__} are not supported") from None
    address = (ctypes.c_char * view.nbytes).from_buffer(view) if not view.readonly else None
    if address is not None:
        return ctypes.addressof(address)
    import numpy as np

    return int(np.frombuffer(view, dtype=np.uint8).__array_interface__["data"][0])


def _from_addresses(table: int, parameters: tuple[KernelParameter, ...] | None) -> list[Argument] | None:
    """Read a `void*[]`: each points to one argument. None when it cannot be read."""
    if parameters is None:
        return None
    words = _bytes_at(table, 8 * len(parameters))
    if words is None:
        return None
    arguments = []
    for number, parameter in enumerate(parameters):
        data = _bytes_at(int.from_bytes(words[8 * number : 8 * number + 8], "little"), parameter.size)
        if data is None:
            return None
        arguments.append(Argument(parameter, data))
    return arguments


def _from_extra(table: int, parameters: tuple[KernelParameter, ...] | None) -> list[Argument] | None:
    """Read the `extra` list: a buffer in which all arguments lie. None when it cannot be read."""
    if not table:
        return []
    buffer, size, at = 0, 0, table
    for _ in range(8):
        word = _word_at(at)
        if word is None:
            return None
        if word == _END:
            break
        value = _word_at(at + 8)
        if value is None:
            return None
        if word == _BUFFER:
            buffer = value
        elif word == _BUFFER_SIZE:
            size = _word_at(value) or 0
        at += 16
    data = _bytes_at(buffer, min(size, _MOST_BUFFER)) if buffer else None
    if data is None:
        return None
    if parameters is None:
        return [Argument(None, data)]
    if any(one.offset + one.size > len(data) for one in parameters):
        return None
    return [Argument(one, data[one.offset : one.offset + one.size]) for one in parameters]


def _word_at(address: int) -> int | None:
    data = _bytes_at(address, 8)
    return None if data is None else int.from_bytes(data, "little")


def _bytes_at(address: int, size: int) -> bytes | None:
    """Return bytes of the process at an address that the program gave; None where there is nothing."""
    if size == 0:
        return b""
    if address < 4096 or not is_mapped(address, size):
        return None
    return ctypes.string_at(address, size)


def _early(arguments: Iterable[Argument]) -> Iterable[tuple[Value, AccessMode, int]]:
    """Yield the addresses behind which a kernel surely uses memory before it may wait, with how it does."""
    for argument in arguments:
        parameter = argument.parameter
        if parameter is not None and parameter.pointer and parameter.early is not None and argument.word(0):
            yield argument.known(argument.word(0)), *parameter.early


def _references(arguments: Iterable[Argument]) -> Iterable[tuple[Value, AccessMode, int]]:
    """Yield the addresses among the arguments, with how the kernel uses what is there."""
    for argument in arguments:
        parameter = argument.parameter
        if parameter is not None and parameter.pointer:
            address = argument.word(0)
            if address:
                yield argument.known(address), parameter.mode, parameter.flags
            continue
        # Structures and 64-bit integers may hold addresses: the model knows which words are some allocation's.
        for offset in range(0, len(argument.data) - 7, 8):
            address = argument.word(offset)
            if address:
                yield argument.known(address), AccessMode.OPAQUE, 0
