"""`cuda.bindings.driver` on a simulated device."""

import sys

from streamsan.sim.bindings import driver

sys.modules[__name__] = driver
