"""Options that belong together: a command gets their values as one argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def option_group(name: str, make: Callable[..., object], *options: Decorator) -> Decorator:
    """Return a decorator that gives a command these options, in their order, and one argument `name`.

    `make` makes that argument of the options' values, by their names. Raises what `make` raises when the command runs.
    """
    names = [each.name for each in click.command("")(_with(options, lambda: None)).params]
    taken = [each for each in dict.fromkeys(names) if each is not None]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def grouped(*arguments: Any, **values: Any) -> Any:
            own = {each: values.pop(each) for each in taken}
            return command(*arguments, **{name: make(**own)}, **values)

        return _with(options, grouped)

    return decorate


def _with(options: tuple[Decorator, ...], command: Command) -> Command:
    # The last one first: click has options in the order in which decorators stand.
    for option in reversed(options):
        command = option(command)
    return command
