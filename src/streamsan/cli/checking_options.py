"""Who checks the inputs of `streamsan check`, and what is remembered of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click
from msgspec import Struct

from streamsan.analysis.source_options import SourceOptions
from streamsan.checking.every_input import Workers
from streamsan.checking.remembered.results import RememberedResults, remembered_results
from streamsan.cli.option_groups import Decorator, option_group
from streamsan.evidence.proofs import Proofs


class CheckingOptions(Struct, frozen=True):
    """The values of the options."""

    jobs: int
    on: str
    """the address of a cluster, "": this machine"""
    no_cache: bool
    cache_dir: str

    def remembered(self, options: SourceOptions, proofs: Proofs) -> RememberedResults | None:
        """Return what is remembered of sources that are read so, and will be; None: nothing."""
        if self.no_cache or proofs.drawn:
            return None
        return remembered_results(self.cache_dir, options, proofs)

    @contextmanager
    def workers(self) -> Iterator[Workers]:
        """Give those who check: up to `jobs` processes of this machine, or a cluster. Raises OptionError."""
        if not self.on:
            yield Workers(self.jobs)
            return
        # Loaded late: most checks need no cluster.
        from streamsan.checking.engines.cluster_address import cluster_at

        with cluster_at(self.on, self.jobs) as cluster:
            yield Workers(self.jobs, cluster, os.getcwd())


def available_cores() -> int:
    """Return how many cores this process may use: a container or a batch system may leave it few of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs_option(help: str) -> Decorator:
    """Return the option that says how many inputs are checked at a time."""
    return click.option("-j", "--jobs", type=click.IntRange(1), default=available_cores, metavar="N", help=help)


checking_options = option_group(
    "checking",
    CheckingOptions,
    jobs_option("Check up to N inputs at a time, each in a process of its own; without it as many as there are cores."),
    click.option(
        "--on",
        "on",
        default="",
        metavar="ADDRESS",
        help="Let a cluster check the inputs: dask://HOST:PORT, ray://HOST:PORT, ray://auto; dask:// and ray:// begin "
        "one of --jobs processes here.",
    ),
    click.option(
        "--no-cache", is_flag=True, help="Read every source, also one that has not changed since it was checked."
    ),
    click.option(
        "--cache-dir",
        default="",
        type=click.Path(path_type=str),
        metavar="FOLDER",
        help="Remember results here; without it in the user's cache folder (XDG_CACHE_HOME, ~/.cache).",
    ),
)
"""one argument `checking: CheckingOptions`"""
