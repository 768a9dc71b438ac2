"""`cuda.bindings.nvjitlink` is not simulated."""

from streamsan.sim.not_simulated import NotSimulatedError

raise NotSimulatedError("cuda.bindings.nvjitlink")
