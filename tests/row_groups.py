"""Rows of a table in groups: one test for each, which names all rows that it finds wrong.

A test for each row costs more than what it checks: pytest takes some milliseconds for it in each of its processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

from streamsan.effects import Api

Row = TypeVar("Row")


def grouped(rows: Iterable[Row], group: Callable[[Row], str]) -> list[ParameterSet]:
    """Return the groups of rows as parameters of a test, each with its name."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(group(row), []).append(row)
    return [pytest.param(members, id=name) for name, members in groups.items()]


def families(apis: Iterable[Api]) -> list[ParameterSet]:
    """Return the families of rows of the effects table as parameters of a test."""
    return grouped(apis, lambda api: api.family)


def check_each(rows: Iterable[Row], name: Callable[[Row], str], check: Callable[[Row], object]) -> None:
    """Check all rows. Raises AssertionError with a line for each that the check raises an exception for."""
    wrong = []
    for row in rows:
        try:
            check(row)
        except Exception as error:
            wrong.append(f"{name(row)}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def check_apis(apis: Iterable[Api], check: Callable[[Api], object]) -> None:
    """Check rows of the effects table."""
    check_each(apis, lambda api: api.name, check)
