"""What edits do, shown as a patch or written into the files; and why other findings have none."""

from __future__ import annotations

import sys

import click
from msgspec import Struct, field

from streamsan.cli.patches import patched_path, unified_diff
from streamsan.cli.pipes import silence_stdout
from streamsan.cli.rewriting import RewriteError, require_unchanged, rewrite
from streamsan.edits.trial import Fixed, NotFixed
from streamsan.findings.finding import Finding, Severity
from streamsan.report import Problem
from streamsan.report.printable import printable


class Edited(Struct):
    """What was found to change in all inputs."""

    before: dict[str, bytes] = field(default_factory=dict)
    """real path -> bytes as they were read"""
    after: dict[str, bytes] = field(default_factory=dict)
    """real path -> new bytes, of files that change"""
    names: dict[str, str] = field(default_factory=dict)
    """real path -> the name that the file was reached by"""
    fixed: list[Fixed] = field(default_factory=list)
    left: list[NotFixed] = field(default_factory=list)
    unreadable: list[Problem] = field(default_factory=list)
    """what could not be checked at all"""
    failed: list[Problem] = field(default_factory=list)
    """what could be checked, and not edited"""
    notes: int = 0
    """findings for which no edits were sought, because they are notes that nobody asked for"""
    needs_source: bool = False
    """only traces were named, and none is of a Python program"""
    recordings: bool = False
    """only traces were named: what they say stays as it is"""


def show(edited: Edited, notes: bool) -> bool:
    """Print the patch, and to standard error what it does and what has no edit. Returns whether there is a patch."""
    patch = b""
    for real, data in sorted(edited.after.items()):
        name = edited.names[real]
        try:
            patch += unified_diff(patched_path(name), edited.before[real], data)
        except ValueError as error:
            click.echo(printable(f"streamsan: {name}: left out of the patch: {error}"), err=True)
    try:
        if patch:
            sys.stdout.flush()
            sys.stdout.buffer.write(patch)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        silence_stdout()
    say(edited, notes, "fix")
    return bool(patch)


def write(edited: Edited, notes: bool) -> list[Problem]:
    """Write the new contents, and say so. Returns what could not be written, and why.

    All files or none: a fix may need several.
    """
    problems = []
    for real in sorted(edited.after):
        try:
            require_unchanged(real, edited.before[real])
        except RewriteError as error:
            problems.append(Problem(edited.names[real], f"{error}: nothing was written"))
    if problems:
        return problems
    for real, data in sorted(edited.after.items()):
        try:
            rewrite(real, edited.before[real], data)
        except RewriteError as error:
            problems.append(Problem(edited.names[real], f"not fixed: {error}"))
    say(edited, notes, "fixed")
    return problems


def say_record_again(edited: Edited) -> None:
    """Say that a recording does not change with the program."""
    if edited.after:
        click.echo("streamsan: record the program again to see what it does now", err=True)


def say(edited: Edited, notes: bool, word: str) -> None:
    """Say on standard error what the edits do, and why other findings have none."""
    for fixed in edited.fixed:
        _say(fixed.finding, f"{word}: {fixed.summary}")
    hidden = 0
    for left in edited.left:
        if left.finding.severity is Severity.NOTE and not notes:
            hidden += 1
        else:
            _say(left.finding, f"no automatic edit: {left.reason}")
    if hidden:
        many = "note has" if hidden == 1 else "notes have"
        click.echo(f"streamsan: {hidden} {many} no automatic edit (--notes says why)", err=True)
    if edited.notes:
        many = "note was" if edited.notes == 1 else "notes were"
        hint = "with --notes they are edited where that is possible"
        click.echo(f"streamsan: {edited.notes} {many} left alone ({hint})", err=True)


def _say(finding: Finding, text: str) -> None:
    where = finding.location
    line = f"streamsan: {where.file}:{where.line}: {finding.code}: {text}"
    click.echo(printable(line), err=True)
