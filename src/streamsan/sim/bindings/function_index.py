"""The functions of the two modules, made when they are first asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from streamsan.platforms.python_bindings import FunctionEntry, ModuleName, catalogue
from streamsan.sim.bindings import special
from streamsan.sim.bindings.plans import Plan, plan_of

Handler = Callable[[Plan, Sequence[object]], object]


class ArgumentsError(TypeError):
    """The arguments do not fit the parameters."""


def function(module: ModuleName, name: str) -> Callable[..., Any] | None:
    """Return the function of a name; None if the module has none."""
    entry = catalogue(module).function(name)
    if entry is None:
        return None
    other = catalogue(module).other_function(name)
    return _made(module, entry, other)


def _made(module: ModuleName, entry: FunctionEntry, other: FunctionEntry | None) -> Callable[..., Any]:
    plain_count = len(entry.parameters)
    handler: Handler = special.handler(entry.name)

    def call(*arguments: object, **named: object) -> object:
        try:
            given = arguments if len(arguments) == plain_count and not named else bind(entry, arguments, named)
            return handler(_plan(module, entry), given)
        except TypeError:
            # A program for the other major version, with the arguments that it has there.
            if other is None or not fits(other, arguments, named):
                raise
            return handler(_plan(module, other), bind(other, arguments, named))

    call.__name__ = call.__qualname__ = entry.name
    call.__module__ = f"cuda.bindings.{module}"
    call.__doc__ = f"{entry.name}{signature_of(entry)}: simulated by streamsan."
    call.__signature__ = signature_of(entry)  # type: ignore[attr-defined]
    return call


@cache
def _plan(module: ModuleName, entry: FunctionEntry) -> Plan:
    return plan_of(module, entry)


def signature_of(entry: FunctionEntry) -> inspect.Signature:
    """Return a function's parameters as `inspect` shows them."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(
                item.name, kind, default=inspect.Parameter.empty if item.default is None else item.default
            )
            for item in entry.parameters
        ]
    )


def bind(entry: FunctionEntry, arguments: Sequence[object], named: dict[str, object]) -> list[object]:
    """Return the arguments in order. Raises ArgumentsError, a TypeError with Python's words."""
    total = len(entry.parameters)
    if len(arguments) > total:
        raise ArgumentsError(_count_message(entry, len(arguments)))
    unknown = named.keys() - {item.name for item in entry.parameters}
    if unknown:
        raise ArgumentsError(f"{entry.name}() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    bound = list(arguments)
    for item in entry.parameters[: len(arguments)]:
        if item.name in named:
            raise ArgumentsError(f"{entry.name}() got multiple values for keyword argument {item.name!r}")
    for item in entry.parameters[len(arguments) :]:
        if item.name in named:
            bound.append(named[item.name])
        elif item.default is not None:
            bound.append(item.default)
        else:
            raise ArgumentsError(_count_message(entry, len(arguments)))
    return bound


def _count_message(entry: FunctionEntry, given: int) -> str:
    total = len(entry.parameters)
    least = sum(1 for item in entry.parameters if item.default is None)
    bound = "exactly" if least == total else "at least" if given < least else "at most"
    number = total if bound != "at least" else least
    return f"{entry.name}() takes {bound} {number} positional argument{'' if number == 1 else 's'} ({given} given)"


def fits(entry: FunctionEntry, arguments: Sequence[object], named: dict[str, object]) -> bool:
    """Return whether arguments fit the parameters of a function by number and name."""
    try:
        bind(entry, arguments, named)
    except ArgumentsError:
        return False
    return True
