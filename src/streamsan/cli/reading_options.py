"""What `streamsan check` reads, and how: paths, and the options of a compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from msgspec import Struct

from streamsan.checking.macros import in_order
from streamsan.checking.request import Request
from streamsan.cli.option_groups import option_group
from streamsan.cli.standard_input import StandardInput

_FILE = click.Path(path_type=str)
_ORDER = "order of -D and -U"


class MacrosInOrder(click.Command):
    """Of `-D` and `-U` the last word counts, as in a compiler: the parser alone knows in which order they stand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and note the order."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[_ORDER] = [
            parameter.name == "defines" for parameter in order if parameter.name in ("defines", "undefines")
        ]
        return super().parse_args(ctx, args)


class ReadingOptions(Struct, frozen=True):
    """The words of the options as they were given."""

    paths: Sequence[str]
    compile_commands: str
    defines: Sequence[str]
    undefines: Sequence[str]
    include_dirs: Sequence[str]
    system_dirs: Sequence[str]
    quote_dirs: Sequence[str]
    forced_includes: Sequence[str]
    source_roots: Sequence[str]
    exclude: Sequence[str]
    stdin_name: str

    def request(self) -> Request:
        """Find the inputs, and read standard input where it is one.

        Raises OptionError and click.ClickException for what the options may not say. The command is a `MacrosInOrder`.
        """
        given = StandardInput.read(self.paths, self.stdin_name)
        return Request.of(
            given.among(self.paths) if given else self.paths,
            macros=in_order(self.defines, self.undefines, click.get_current_context().meta[_ORDER]),
            include_dirs=self.include_dirs,
            system_dirs=self.system_dirs,
            quote_dirs=self.quote_dirs,
            forced_includes=self.forced_includes,
            source_roots=self.source_roots,
            compile_commands=self.compile_commands,
            exclude=self.exclude,
            contents=given.contents if given else None,
        )


def _options(*, paths: Sequence[str], **words: Any) -> ReadingOptions:
    # click has no default for an argument that takes any number of words.
    return ReadingOptions(paths or click.get_current_context().lookup_default("paths") or (), **words)


source_root_option = click.option(
    "--source-root",
    "source_roots",
    multiple=True,
    metavar="OLD=NEW|FOLDER",
    help="Find the sources that traces name below NEW instead of OLD, or anywhere below FOLDER.",
)
reading_options = option_group(
    "reading",
    _options,
    click.argument("paths", nargs=-1, type=_FILE, metavar="PATH..."),
    click.option(
        "-p",
        "--compile-commands",
        default="",
        type=_FILE,
        metavar="BUILD",
        help="Read sources as this compile_commands.json, or that of this folder, compiles them; without PATH all of "
        "them.",
    ),
    click.option(
        "-D", "--define", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro for sources."
    ),
    click.option(
        "-U", "--undefine", "undefines", multiple=True, metavar="NAME", help="Undefine a macro, also a built-in one."
    ),
    click.option(
        "-I", "include_dirs", multiple=True, type=_FILE, metavar="FOLDER", help="Search this folder for includes."
    ),
    click.option(
        "-isystem",
        "system_dirs",
        multiple=True,
        type=_FILE,
        metavar="FOLDER",
        help="Search this folder for includes, after the others; do not report findings in its headers.",
    ),
    click.option(
        "-iquote",
        "quote_dirs",
        multiple=True,
        type=_FILE,
        metavar="FOLDER",
        help='Search this folder for `#include "..."`.',
    ),
    click.option(
        "-include",
        "forced_includes",
        multiple=True,
        type=_FILE,
        metavar="FILE",
        help="Read this file before each source.",
    ),
    source_root_option,
    click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERN",
        help="Leave out files and folders that match this pattern, as in .gitignore. What git ignores is left out, "
        "too.",
    ),
    click.option(
        "--stdin-name", default="", metavar="FILE", help="Name of the file that standard input (`-`) stands for."
    ),
)
"""one argument `reading: ReadingOptions`"""
