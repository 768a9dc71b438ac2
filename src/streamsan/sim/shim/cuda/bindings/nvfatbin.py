"""`cuda.bindings.nvfatbin` is not simulated."""

from streamsan.sim.not_simulated import NotSimulatedError

raise NotSimulatedError("cuda.bindings.nvfatbin")
