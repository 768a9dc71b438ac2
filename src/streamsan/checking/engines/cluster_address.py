"""`--on ADDRESS`: which engine an address means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module

from streamsan.checking.engines.worker_engine import UnreachableError, WorkerEngine
from streamsan.checking.option_error import OptionError
from streamsan.report.printable import printable

OPTION = "--on"
_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+):\d{1,5}")
_ENGINES = {"dask": ("dask_cluster", "Dask", ""), "ray": ("ray_cluster", "Ray", "auto")}
"""by scheme: the module, its name, and a word that stands for a place"""


@contextmanager
def cluster_at(address: str, jobs: int) -> Iterator[WorkerEngine]:
    """Give the engine of an address: `dask://HOST:PORT`, `ray://HOST:PORT`, `ray://auto`.

    Without a place it is a cluster of `jobs` processes on this machine, which ends with the block. Raises OptionError
    for an address that means none, an engine that is not installed, or a cluster that cannot be reached.
    """
    scheme, _, place = address.partition("://")
    if scheme not in _ENGINES or "://" not in address:
        raise OptionError(f"{OPTION}: '{printable(address)}' begins with neither dask:// nor ray://")
    module, name, word = _ENGINES[scheme]
    place = place.rstrip("/")
    if place and place != word and not _PLACE.fullmatch(place):
        also = f", {scheme}://{word}" if word else ""
        raise OptionError(f"{OPTION}: '{printable(address)}' is not {scheme}://HOST:PORT{also} or {scheme}://")
    try:
        begin: Callable[[str, int], AbstractContextManager[WorkerEngine]]
        begin = import_module(f"streamsan.checking.engines.{module}").cluster
    except ImportError as error:
        raise OptionError(f"{OPTION}: {name} is not installed: pip install 'streamsan[{scheme}]'") from error
    with ExitStack() as ends:
        try:
            engine = ends.enter_context(begin(place, jobs))
        except UnreachableError as error:
            raise OptionError(f"{OPTION}: {printable(address)}: {printable(str(error))}") from error
        yield engine
