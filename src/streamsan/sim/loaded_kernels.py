"""Modules and kernels that a program loaded, by handle, and what a launch of one means to the model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from streamsan.kernels.uses import Start
from streamsan.model.statuses import INVALID_HANDLE, INVALID_VALUE, SUCCESS
from streamsan.model.values import Pointer, Value
from streamsan.sim.device_program import DeviceVariable, KernelType, Program
from streamsan.sim.kernel_bodies import Body, Dimensions, SimulatedKernel
from streamsan.sim.launch_arguments import early_references, given_arguments, is_table, number_of, references
from streamsan.vocabulary import AccessMode

if TYPE_CHECKING:
    from streamsan.model.resources import Context

BODIES = "SIMULATED_KERNELS"
"""The variable in which a script's main module gives bodies of kernels, by name."""

AT_ONCE = "begins_at_once"
"""The attribute by which a body says that its kernel does not wait for the kernel before it (programmatic dependent
launch), or that it does, where the kernel's own code does not tell."""


Guard = Callable[[Callable[[], None]], None]
"""Runs a function during which the program may not call CUDA."""


class Module(Struct, eq=False):
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


class Function(Struct, eq=False):
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


class Launch(Struct, frozen=True):
    """What a launch's arguments mean."""

    status: int
    kernel_arguments: tuple[tuple[Value, AccessMode, int], ...] = ()
    early_arguments: tuple[tuple[Value, AccessMode, int], ...] | None = None
    """what the kernel uses before it may wait for the kernel before it; None: it waits first, or nobody knows"""
    payload: SimulatedKernel | None = None


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
        arguments = given_arguments(kernel_params, extra, parameters)
        if arguments is None and parameters is None and is_table(kernel_params):
            count = f"nobody can tell how many arguments `{found.name}` has"
            self._note(found, f"{count}: the memory it uses is not seen")
            arguments = []
        if arguments is None or (parameters and not arguments):
            return Launch(INVALID_VALUE)
        if found.kernel.unread and arguments:
            what = f"of kernel `{found.name}` there is only {found.kernel.unread}"
            self._note(found, f"{what}: how it uses the memory that it is given is not known")
        dimensions = Dimensions(_three(grid), _three(block), int(shared))
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
        pieces = [piece for argument in arguments for piece in argument.pieces()]
        if self.body_of(found.kernel) is None:  # one in Python may use what the kernel's own code does not
            pieces = [piece for piece in pieces if piece.used]
        used = tuple(references(pieces))
        start = self._start_of(found.kernel)
        first = tuple(early_references(pieces)) if start is Start.PARTLY else None
        early = used if start is Start.AT_ONCE else first
        return Launch(SUCCESS, used, early, payload)

    def _note(self, function: Function, reason: str) -> None:
        """Note, once for each function, that something of it is not known."""
        if function.handle not in self._noted:
            self._noted.add(function.handle)
            self._not_understood(reason)

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
    return KernelType(written or name, name, unread="machine code") if program.any_kernel else None


def _three(numbers: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (int(number) for number in numbers)
    return x, y, z
