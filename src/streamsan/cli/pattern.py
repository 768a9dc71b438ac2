"""A regular expression as an option's value."""

from __future__ import annotations

import re

import click


def pattern(context: click.Context, option: click.Parameter, value: str) -> str:
    """Return the value of an option that is a regular expression. Raises click.BadParameter where it is none."""
    try:
        re.compile(value)
    except re.error as error:
        raise click.BadParameter(f"not a regular expression: {error}") from error
    return value
