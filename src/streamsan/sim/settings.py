"""What the processes of a simulated program are told by the process that started them: one environment variable."""

from __future__ import annotations

import json
import os

from msgspec import Struct

from streamsan.sim.options import Driver, Schedule, SimulationOptions

VARIABLE = "STREAMSAN_SIMULATION"
CODE = "from streamsan.sim.program_process import main; main()"
"""what the process that runs the program executes"""
FAILED = "failed"
"""a file of this name in the folder: streamsan could not begin, and has said why"""


class Settings(Struct, frozen=True):
    """How a program is simulated, and where its processes write their traces."""

    options: SimulationOptions
    folder: str
    program: str
    """its name in the trace"""
    kernels: str = ""
    """file with SIMULATED_KERNELS, "" if there is none"""

    def packed(self) -> str:
        """Return the value of the variable."""
        return json.dumps(
            {
                "schedule": self.options.schedule,
                "driver": self.options.driver,
                "devices": self.options.devices,
                "memory": self.options.memory,
                "folder": self.folder,
                "program": self.program,
                "kernels": self.kernels,
            }
        )


def from_environment() -> Settings | None:
    """Return the settings of this process; None when it was not started by `streamsan sim`."""
    try:
        given = json.loads(os.environ[VARIABLE])
        options = SimulationOptions(
            schedule_of(str(given["schedule"])), Driver(given["driver"]), int(given["devices"]), int(given["memory"])
        )
        return Settings(options, str(given["folder"]), str(given["program"]), str(given["kernels"]))
    except (KeyError, ValueError, TypeError):
        return None


def schedule_of(word: str) -> Schedule | int:
    """Return a schedule by its name, or a seed. Raises ValueError."""
    if word in tuple(Schedule):
        return Schedule(word)
    seed = int(word)
    if seed < 0:
        raise ValueError("a seed is not negative")
    return seed
