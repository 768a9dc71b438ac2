"""`cuda.core` calls the driver from compiled code, which no simulated device can stand behind."""

from streamsan.sim.not_simulated import NotSimulatedError

raise NotSimulatedError("cuda.core")
