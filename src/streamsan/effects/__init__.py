"""The effects table: every CUDA API by name, its published argument lists, what each argument is, what the call does.

`EFFECTS.find("cudaFreeAsync")` gives the `Api`; `api.bind(number of arguments)` the `Signature` of a call. The rows
are in `cuda/*.toml`; README.md there has their grammar. `python -m streamsan.generate` writes them as a C++ header.
"""

from streamsan.effects.api import Api, Domain, Hint
from streamsan.effects.constants import CONSTANTS
from streamsan.effects.roles import OUT_ROLES, POINTER_ROLES, Effect, Role
from streamsan.effects.signature import Parameter, Signature, TableError
from streamsan.effects.table import EFFECTS, Effects
from streamsan.effects.waits import Endpoint, copy_wait, memset_wait

__all__ = [
    "CONSTANTS",
    "EFFECTS",
    "OUT_ROLES",
    "POINTER_ROLES",
    "Api",
    "Domain",
    "Effect",
    "Effects",
    "Endpoint",
    "Hint",
    "Parameter",
    "Role",
    "Signature",
    "TableError",
    "copy_wait",
    "memset_wait",
]
