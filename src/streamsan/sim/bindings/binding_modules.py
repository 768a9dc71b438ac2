"""`cuda.bindings.driver` and `cuda.bindings.runtime` on the simulated device; what they hold is made when asked for."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from streamsan.platforms.python_bindings import ModuleName


class BindingsModule(ModuleType):
    """One of the two modules."""

    def __init__(self, name: ModuleName) -> None:
        super().__init__(f"cuda.bindings.{name}", f"`cuda.bindings.{name}` on the simulated device.")
        self._bindings_name: ModuleName = name

    def __getattr__(self, name: str) -> Any:
        # Here, not above: with it come the tables, which cost time.
        from streamsan.sim.bindings import namespace

        if name == "__all__":
            return namespace.names(self._bindings_name)
        value = namespace.lookup(self._bindings_name, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        from streamsan.sim.bindings import namespace

        own = {name for name in vars(self) if name.startswith("__")}
        return sorted({*own, *namespace.names(self._bindings_name)})


driver, runtime = BindingsModule("driver"), BindingsModule("runtime")
