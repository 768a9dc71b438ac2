"""The device that `streamsan sim` simulates."""

from __future__ import annotations

import click
from msgspec import Struct

from streamsan.cli.option_groups import option_group
from streamsan.cli.size import size
from streamsan.sim.options import MEMORY, Driver, SimulationOptions
from streamsan.sim.settings import schedule_of

_DEFAULT_SCHEDULE = "0"


class DeviceOptions(Struct, frozen=True):
    """The values of the options."""

    simulation: SimulationOptions
    kernels: str
    """the file that says what kernels compute, "" for none"""


def _schedule(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        schedule_of(value)
    except ValueError:
        raise click.BadParameter("eager, lazy, or the seed of a random schedule (0, 1, 2, ...)") from None
    return value


def _made(*, schedule: str, driver: str, devices: int, memory: int, kernels: str) -> DeviceOptions:
    options = SimulationOptions(schedule_of(schedule), Driver(driver), devices, memory or MEMORY)
    return DeviceOptions(options, kernels)


device_options = option_group(
    "device",
    _made,
    click.option(
        "--schedule",
        default=_DEFAULT_SCHEDULE,
        show_default=True,
        metavar="SEED|eager|lazy",
        callback=_schedule,
        help="When issued work runs: in a random order of what is ready, as soon, or as late as the contract allows.",
    ),
    click.option(
        "--driver",
        type=click.Choice([driver.value for driver in Driver]),
        default=Driver.CONTRACT.value,
        show_default=True,
        help="What is promised and no more, or what was measured on an H200.",
    ),
    click.option("--devices", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of devices."),
    click.option(
        "--memory",
        default="4G",
        show_default=True,
        metavar="SIZE",
        callback=size,
        help="Memory of a device (512M, 80G).",
    ),
    click.option("--kernels", default="", metavar="FILE", help="Take SIMULATED_KERNELS from this Python file."),
)
"""one argument `device: DeviceOptions`"""
