"""A regular expression for kernels' names as an option's value."""

from __future__ import annotations

import re

import click

from streamsan.recorder.kernel_pattern import extended


def pattern(context: click.Context, option: click.Parameter, value: str) -> str:
    """Return a regular expression as the recorder takes it. Raises click.BadParameter where it cannot."""
    try:
        re.compile(value)
        return extended(value)
    except re.error as error:
        raise click.BadParameter(f"not a regular expression: {error}") from error
    except ValueError as error:
        raise click.BadParameter(f"the recorder has no such regular expression: {error}") from error
