"""`cuda.bindings.driver` on the simulated device."""

from __future__ import annotations

from typing import Any

_MODULE = "driver"


def __getattr__(name: str) -> Any:
    """Return a function, class or constant of cuda.bindings.driver; raise AttributeError for an unknown name."""
    # Here, not above: with it come the tables, which cost time.
    from streamsan.sim.bindings import namespace

    if name == "__all__":
        return namespace.names(_MODULE)
    value = namespace.lookup(_MODULE, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return all names."""
    from streamsan.sim.bindings import namespace

    return sorted({*globals(), *namespace.names(_MODULE)})
