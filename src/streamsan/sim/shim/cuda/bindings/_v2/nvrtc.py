"""`cuda.bindings._v2.nvrtc` on a simulated device."""

import sys

from streamsan.sim.bindings.v2_modules import nvrtc

sys.modules[__name__] = nvrtc
