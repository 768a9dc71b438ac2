"""How calls about modules, libraries, kernels and functions are answered: handlers by the names of the API.

The bindings call `status, *outputs = handler(session, *args)`, with the arguments of the Python binding, positional, as
the program gave them (handles and enumerators are taken by `int()`, names are bytes or str, an image is bytes, an
address or any buffer). `status` is an int. `outputs` are in the order of the binding's returned tuple: handles as ints,
device addresses as Pointer, names as bytes, lists as lists of ints, structures as a flat dict of their C fields; there
are none when `status` is not 0. The handlers make the `session.call` themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamsan.model.statuses import INVALID_HANDLE
from streamsan.sim.launch_arguments import number_of
from streamsan.sim.session import Session

Answer = tuple[Any, ...]
Handler = Callable[..., Answer]


class Handlers(dict[str, Handler]):
    """API name -> handler. Its methods register functions, which are called with the API's name first."""

    def of(self, *names: str) -> Callable[[Handler], Handler]:
        """Register a function that is called with the session and the binding's arguments."""

        def register(function: Handler) -> Handler:
            for name in names:
                self[name] = _bound(function, name)
            return function

        return register

    def of_module(self, *names: str) -> Callable[[Handler], Handler]:
        """Register a function that is called with the session, and the module in place of its handle."""

        def register(function: Handler) -> Handler:
            def found(api: str, session: Session, handle: object, *rest: object) -> Answer:
                module = session.kernels.module(handle)
                return (INVALID_HANDLE,) if module is None else function(api, session, module, *rest)

            self.of(*names)(found)
            return function

        return register

    def of_function(self, *names: str, null: int = INVALID_HANDLE, at: int = 0) -> Callable[[Handler], Handler]:
        """Register a function that is called with a function or kernel, and the arguments but for its handle.

        `null`: the status for NULL, which some take for a wrong value (Q-07). `at`: where the handle stands.
        """

        def register(function: Handler) -> Handler:
            def found(api: str, session: Session, *arguments: object) -> Answer:
                handle = arguments[at]
                kernel = session.kernels.function(handle)
                if kernel is None:
                    return (INVALID_HANDLE if number_of(handle) else null,)
                return function(api, kernel, *arguments[:at], *arguments[at + 1 :])

            self.of(*names)(found)
            return function

        return register


def _bound(function: Handler, name: str) -> Handler:
    def handler(session: Session, *arguments: Any) -> Answer:
        with session.lock:
            status, *outputs = function(name, session, *arguments)
            answered = session.answer(name, status)
            return (answered, *outputs) if not answered else (answered,)

    handler.__name__ = name
    return handler
