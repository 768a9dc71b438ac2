"""The effects table: every API by name, its published argument lists, what each argument is, what the call does.

`platform.effects.find("cudaFreeAsync")` gives the `Api`; `api.bind(number of arguments)` the `Signature` of a call. The
rows are in `platforms/cuda/api/*.toml`; README.md beside them has their grammar. `python -m streamsan.generate` writes
them as a C++ header.
"""

from streamsan.effects.api import Api as Api
from streamsan.effects.api import Domain as Domain
from streamsan.effects.api import Hint as Hint
from streamsan.effects.roles import OUT_ROLES as OUT_ROLES
from streamsan.effects.roles import POINTER_ROLES as POINTER_ROLES
from streamsan.effects.roles import Effect as Effect
from streamsan.effects.roles import Role as Role
from streamsan.effects.signature import Parameter as Parameter
from streamsan.effects.signature import Signature as Signature
from streamsan.effects.signature import TableError as TableError
from streamsan.effects.table import Effects as Effects
from streamsan.effects.waits import Endpoint as Endpoint
from streamsan.effects.waits import Waits as Waits
