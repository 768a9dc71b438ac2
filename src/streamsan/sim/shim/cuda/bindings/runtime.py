"""`cuda.bindings.runtime` on a simulated device."""

import sys

from streamsan.sim.bindings.binding_modules import runtime

sys.modules[__name__] = runtime
