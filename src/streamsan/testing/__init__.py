"""A simulated device in tests: as a `with` block, or by the pytest plugin.

with streamsan.testing.device(schedule="lazy") as device:
    from cuda.bindings import runtime as cudart
    ...
device.check()      # AssertionError with the report when something is wrong
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamsan.sim.options import Driver, Schedule
    from streamsan.testing.device_under_test import Device


@contextmanager
def device(
    schedule: Schedule | int | str = 0,
    driver: Driver | str = "contract",
    devices: int = 1,
    kernels: Mapping[str, Callable[..., object]] | None = None,
    memory: int = 4 << 30,
) -> Iterator[Device]:
    """Simulate a device for the duration of a `with` block: imports of `cuda.bindings` give the simulated modules.

    `schedule`: "eager", "lazy", or the seed of a random schedule. `driver`: "contract" or "h200". `kernels`: bodies of
    kernels by name. `memory`: bytes of one device. Raises ValueError for what these may not be. Leaving the block
    checks nothing: see `Device`.
    """
    # Imported here: the pytest plugin is loaded in every run of pytest, and must be cheap.
    from streamsan.sim import active, fork_watch, thread_watch, wait_watch
    from streamsan.sim.installation import Installation
    from streamsan.sim.options import Driver, SimulationOptions
    from streamsan.sim.session import Session
    from streamsan.sim.settings import schedule_of
    from streamsan.testing.device_under_test import Device

    if devices < 1:
        raise ValueError("there is at least one device")
    options = SimulationOptions(schedule_of(str(schedule)), Driver(driver), devices, memory)
    session = Session(options, os.path.basename(sys.argv[0]) or "python")
    session.kernels.register(kernels or {})
    found = Device(session)
    with Installation():
        active.push(session)
        thread_watch.watch()
        fork_watch.watch()
        wait_watch.watch()
        try:
            yield found
        except BaseException:
            found.gave_up()
            raise
        finally:
            # A forked child leaves through here too: it ends its part, and the parent goes on with its own.
            found.close()
            wait_watch.unwatch()
            fork_watch.unwatch()
            thread_watch.unwatch()
            active.pop(session)
