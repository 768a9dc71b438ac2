"""How far the interpreter goes before it stops, cuts a loop short, or leaves paths out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How far the interpreter goes. All are counts, so that two runs give the same worlds."""

    paths: int = 64
    """paths of one entry"""
    steps: int = 60_000
    """expressions and statements of one path"""
    entries: int = 400
    """entries that are run even when the file's budget is spent; more run as long as it lasts"""
    file_steps: int = 150_000
    """expressions and statements of all paths of one file, beyond which each entry is run once"""
    most_steps: int = 250_000
    """expressions and statements of all paths of one file, whatever its entries"""
    operations: int = 20_000
    """operations of one path"""
    file_operations: int = 60_000
    """operations of all paths of one file"""
    depth: int = 40
    """calls nested in each other"""
    nesting: int = 1500
    """statements and expressions nested in each other, over all active calls"""
    iterations: int = 64
    """iterations of a loop whose count is known"""
    first_iterations: int = 6
    """iterations that are run of a longer loop, before its last two"""
    unknown_iterations: int = 4
    """iterations of a loop whose count is not known: enough for double and triple buffering"""
    endless_iterations: int = 16
    """iterations of a loop that only a `break` ends"""
