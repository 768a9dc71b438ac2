"""Device variables of loaded modules: each gets its memory when somebody first asks for it."""

from __future__ import annotations

from streamsan.model.device_model import DeviceModel
from streamsan.model.values import Pointer
from streamsan.sim.device_program import DeviceVariable
from streamsan.sim.executor.simulated_memory import SimulatedMemory
from streamsan.sim.loaded_kernels import Module
from streamsan.sim.program_threads import Threads
from streamsan.sim.sites import CallSites
from streamsan.vocabulary import MemoryKind


class DeviceVariables:
    """Places `__device__`, `__constant__` and `__managed__` variables. Callers hold the session's lock."""

    def __init__(self, model: DeviceModel, memory: SimulatedMemory, sites: CallSites, threads: Threads) -> None:
        self._model = model
        self._memory = memory
        self._sites = sites
        self._threads = threads

    def place(self, module: Module, variable: DeviceVariable) -> tuple[Pointer, int]:
        """Return address and size of a variable, whose memory holds its initial bytes at first."""
        found = module.variables.get(variable.lowered)
        if found is None:
            size = variable.size
            site = self._sites.labelled(self._sites.here(), variable.lowered)
            thread = self._threads.calling(site)
            pointer = self._model.host_allocate(thread, size, MemoryKind.DEVICE_SYMBOL, site)
            view = self._memory.view(pointer.address, size)
            view[:] = 0
            view[: len(variable.initial)] = memoryview(variable.initial[:size])
            found = module.variables[variable.lowered] = pointer, size
        return found

    def place_all(self, module: Module) -> None:
        """Give all variables of a module their memory, before a body of the program's runs that may use them."""
        for variable in module.program.variables:
            if variable.size:
                self.place(module, variable)
