"""Sizes on the command line: `500M`, `2G`, `1.5GiB`."""

from __future__ import annotations

import re

import click

LEAST = 1 << 20
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def size(context: click.Context, parameter: click.Parameter, value: str) -> int:
    """Return the number of bytes that an option's value means, 0 for "". Raises click.BadParameter."""
    if not value:
        return 0
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise click.BadParameter("a number of bytes, with K, M, G or T behind it for 1024 and its powers")
    number = int(float(match[1]) * _FACTORS[match[2].upper()])
    if number < LEAST:
        raise click.BadParameter(f"less than {LEAST >> 20} MiB")
    return number
