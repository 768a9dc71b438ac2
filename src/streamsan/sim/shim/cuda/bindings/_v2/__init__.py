"""`cuda.bindings._v2` on a simulated device: cuda-bindings has it since 13.4."""

from streamsan.platforms.python_bindings import FIRST_OF_NEW as _FIRST_OF_NEW
from streamsan.platforms.python_bindings import wanted_major as _wanted_major

if _wanted_major() < _FIRST_OF_NEW:
    raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)
