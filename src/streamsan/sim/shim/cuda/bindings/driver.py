"""`cuda.bindings.driver` on a simulated device."""

import sys

from streamsan.sim.bindings.binding_modules import driver

sys.modules[__name__] = driver
