"""How the simulated device behaves."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Driver(StrEnum):
    """What is promised, or what was measured."""

    CONTRACT = "contract"
    """only what the documentation promises: pinned and pool memory is freed without a wait, and recycled at once"""
    H200 = "h200"
    """what docs/facts.md observed on one driver"""


class Schedule(StrEnum):
    """When issued work runs. A number instead is the seed of a random schedule."""

    EAGER = "eager"
    """as soon as its predecessors are done"""
    LAZY = "lazy"
    """as late as possible: only what a wait needs, when it needs it"""


MEMORY = 4 << 30
"""bytes of a device, unless told otherwise"""


class SimulationOptions(Struct, frozen=True):
    """The choices of `streamsan sim`."""

    schedule: Schedule | int = 0
    driver: Driver = Driver.CONTRACT
    devices: int = 1
    memory: int = MEMORY
    """bytes of one device"""
