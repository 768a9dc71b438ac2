"""What the waits of a recorded run cost. Data only."""

from __future__ import annotations

from msgspec import Struct

from streamsan.findings.finding import Location

SAVES, SPREAD = "saves_ns", "saves_spread_ns"
"""properties of a finding: by how much the run would have been shorter without, and how far off that may be"""


class WaitCost(Struct, frozen=True):
    """One place of a program where it waits, or allocates and frees again and again."""

    path: str
    """the recording"""
    location: Location
    call: str
    """what is called there, as the program writes it"""
    count: int
    waited_ns: int
    """how long the calls took in all"""
    saves_ns: int
    """by how much the run would have been shorter without"""
    spread_ns: int
    """how far off that may be"""
    adds_order: bool | None
    """False: what it waits for was before the waiter already, each time; None: it is no wait"""
    code: str = ""
    """the rule that says that it can go, "" where none does"""


class RunCosts(Struct, frozen=True):
    """What one recorded run waited for."""

    path: str
    recorded_ns: int
    """how long the run took, from its first call to the end of its last call or work"""
    waits: tuple[WaitCost, ...]
    """what saves most first"""
    together_ns: int = 0
    """by how much the run would have been shorter without all that can go"""
    together_spread_ns: int = 0
