"""`cuda.bindings.cudla` is not simulated."""

from streamsan.sim.not_simulated import NotSimulatedError

raise NotSimulatedError("cuda.bindings.cudla")
