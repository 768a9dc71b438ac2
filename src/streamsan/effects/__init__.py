"""The effects table: every API by name, its published argument lists, what each argument is, what the call does.

`platform.effects.find("cudaFreeAsync")` gives the `Api`; `api.bind(number of arguments)` the `Signature` of a call. The
rows are in `platforms/cuda/api/*.toml`; README.md beside them has their grammar. `python -m streamsan.generate` writes
them as a C++ header.
"""

from streamsan.effects.api import Api, Domain, Hint
from streamsan.effects.roles import OUT_ROLES, POINTER_ROLES, Effect, Role
from streamsan.effects.signature import Parameter, Signature, TableError
from streamsan.effects.table import Effects
from streamsan.effects.waits import Endpoint, Waits

__all__ = [
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
    "Waits",
]
