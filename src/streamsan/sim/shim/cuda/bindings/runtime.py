"""`cuda.bindings.runtime` on a simulated device."""

import sys

from streamsan.sim.bindings import runtime

sys.modules[__name__] = runtime
