"""The machine that a simulated device stands for: its attributes, limits and properties, from hardware.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from streamsan.platforms import CUDA


class Machine(Struct, frozen=True):
    """`count` devices, all alike."""

    count: int
    name: str
    driver_version: int
    runtime_version: int
    attributes: Mapping[int, int]
    """cudaDeviceAttr -> value; what is not listed is 0"""
    limits: Mapping[int, int]
    """cudaLimit -> what holds until the program sets it"""
    properties: Mapping[str, int]
    """field of cudaDeviceProp -> cudaDeviceAttr"""

    @property
    def greatest_priority(self) -> int:
        """The highest priority of a stream, as a number; 0 is the least."""
        return -5

    def attribute(self, number: int, device: int) -> int:
        """Return an attribute of a device."""
        if number == CUDA.constants["cudaDevAttrPciBusId"]:
            return device + 1
        return self.attributes.get(number, 0)

    def uuid(self, device: int) -> str:
        """Return the 16 bytes of a device's UUID, each as a character."""
        return f"simulated dev{device:03}"

    def pci_bus_id(self, device: int) -> str:
        """Return a device's place on the bus, as cudaDeviceGetPCIBusId writes it."""
        return f"0000:{device + 1:02X}:00.0"

    def has(self, device: int) -> bool:
        """Return whether there is such a device."""
        return 0 <= device < self.count


def load_machine(count: int) -> Machine:
    """Return the machine with `count` devices."""
    data = _data()
    attributes = {_number(name): value for name, value in data["attributes"].items()}
    limits = {_number(name): value for name, value in data["limits"].items()}
    return Machine(
        count,
        data["name"],
        data["driver_version"],
        data["runtime_version"],
        attributes,
        limits,
        {field: _number(name) for field, name in data["properties"].items()},
    )


def _number(name: str) -> int:
    return int(name) if name.isdecimal() else CUDA.constants[name]


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).resolve().parent / "hardware.toml").read_text(encoding="utf-8"))
