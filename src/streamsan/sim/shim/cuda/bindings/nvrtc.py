"""`cuda.bindings.nvrtc` on a simulated device."""

import sys

from streamsan.sim.bindings import nvrtc_functions

sys.modules[__name__] = nvrtc_functions
