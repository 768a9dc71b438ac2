"""`cuda.bindings._v2.driver` on a simulated device."""

import sys

from streamsan.sim.bindings.v2_modules import driver

sys.modules[__name__] = driver
