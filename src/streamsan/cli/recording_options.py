"""What `streamsan run` records of a program, and what it does with the recording."""

from __future__ import annotations

import click
from msgspec import Struct

from streamsan.cli.option_groups import option_group
from streamsan.cli.pattern import pattern
from streamsan.cli.size import size
from streamsan.recorder.accesses import Accesses
from streamsan.recorder.launch import Wanted


class RecordingOptions(Struct, frozen=True):
    """The values of the options."""

    accesses: bool
    accesses_of: str
    accesses_first: int
    no_check: bool
    require_recording: bool
    host_accesses: bool
    pools: str
    poison: bool
    times: bool
    no_sites: bool
    no_source: bool
    no_code: bool
    redact: bool
    max_size: int
    """bytes, 0 for any"""

    @property
    def looks_at_kernels(self) -> bool:
        """Whether the memory that kernels touch is seen on the device."""
        return bool(self.accesses or self.accesses_of or self.accesses_first)

    def wanted(self, accesses: Accesses | None) -> Wanted:
        """Return what is recorded; `accesses`: with what it is seen what kernels touch."""
        return Wanted(
            max_bytes=self.max_size,
            sites=not self.no_sites,
            redact=self.redact,
            code=not self.no_code,
            host_accesses=self.host_accesses,
            accesses=accesses,
            driver_pools=self.pools == "driver",
            poison=self.poison,
            times=self.times,
        )

    def require_sense(self) -> None:
        """Raise click.UsageError for what cannot be recorded in one run."""
        if self.poison and self.looks_at_kernels:
            raise click.UsageError("--poison and --accesses are two runs: each would be seen by the other")
        if self.times and self.looks_at_kernels:
            raise click.UsageError("--times and --accesses are two runs: kernels that are looked at take longer")


recording_options = option_group(
    "how",
    RecordingOptions,
    click.option(
        "--accesses", is_flag=True, help="See on the device which memory each kernel touches: exact, but much slower."
    ),
    click.option(
        "--accesses-of",
        default="",
        metavar="REGEX",
        callback=pattern,
        help="The same, only of kernels in whose name this is found.",
    ),
    click.option(
        "--accesses-first",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="The same, only of the first N launches of a kernel with the same arguments; later ones are trusted.",
    ),
    click.option("--no-check", is_flag=True, help="Record only; `streamsan check F.sst` checks later, anywhere."),
    click.option(
        "--require-recording",
        is_flag=True,
        help="Exit with 2 unless all that the program asked of its GPU was recorded.",
    ),
    click.option(
        "--host-accesses",
        is_flag=True,
        help="Record when the host reads or writes pinned, registered and managed memory that GPU work uses.",
    ),
    click.option(
        "--pools",
        type=click.Choice(["own", "driver"]),
        default="own",
        show_default=True,
        help="Whether PyTorch, JAX, TensorFlow and CuPy take blocks from pools of their own or from the driver's.",
    ),
    click.option(
        "--poison",
        is_flag=True,
        help="Overwrite memory that was given back, so that a silent race becomes a wrong number.",
    ),
    click.option(
        "--times", is_flag=True, help="Record when the device did each kernel, copy, fill and graph launch (CUDA)."
    ),
    click.option("--no-sites", is_flag=True, help="Do not record where calls come from: a little faster."),
    click.option("--no-source", is_flag=True, help="Do not store the source lines that call sites name."),
    click.option("--no-code", is_flag=True, help="Do not keep the kernels' machine code, which tells what they touch."),
    click.option(
        "--redact",
        is_flag=True,
        help="Leave out arguments, folders, names of user and host, source lines, and machine code.",
    ),
    click.option(
        "--max-size",
        default="",
        metavar="SIZE",
        callback=size,
        help="Bound the trace (500M, 2G, ...): of a long run the end is kept.",
    ),
)
"""one argument `how: RecordingOptions`"""
