"""`cuda.bindings` on a simulated device."""

from streamsan.platforms.python_bindings import catalogue as _catalogue
from streamsan.sim.start import ensure_session as _ensure_session

__version__ = _catalogue("driver").version

_ensure_session()
