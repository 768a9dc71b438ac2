"""What a worker of our own Dask cluster does first. It is named to Dask, which calls it; nobody imports it."""

from __future__ import annotations

import signal


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C, which a terminal sends to all, to the process that began the cluster."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
