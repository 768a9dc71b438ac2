"""A check as a process of its own: it may take long, be ended, or fail, and the server answers on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from streamsan.analysis.checked import UnreadableError
from streamsan.checking.json_findings import json_findings
from streamsan.findings.finding import Finding


class CheckFailedError(Exception):
    """A check gave no report. `str()` is the reason in one line."""


class CheckedText(Struct, frozen=True):
    """What a check is about: a text, the file that it is taken for, and how sources are read."""

    name: str
    """the file, relative to `folder` where it lies below it"""
    text: str
    folder: str
    """where the check runs: the folders of options, and `streamsan.toml`, are sought from there"""
    arguments: Sequence[str]
    """further words of the command line of `streamsan check`"""
    timeout: float
    """seconds"""

    async def findings(self) -> tuple[Finding, ...]:
        """Return what is found. Raises CheckFailedError."""
        return await self._report()

    async def with_edits(self) -> tuple[Finding, ...]:
        """Return what is found, with the edits that were tried; this takes longer. Raises CheckFailedError."""
        return await self._report("--diff")

    async def patch(self) -> bytes:
        """Return a patch of all that can be fixed at once, b"" where nothing can. Raises CheckFailedError."""
        return await self._output("--diff", "--format", "text")

    async def _report(self, *words: str) -> tuple[Finding, ...]:
        output = await self._output(*words, "--format", "json")
        try:
            return json_findings(self.name, output).findings
        except UnreadableError as error:
            raise CheckFailedError(error.reason) from error

    async def _output(self, *more: str) -> bytes:
        words = ["check", *self.arguments, *more, "--jobs", "1", "--exit-zero", f"--stdin-name={self.name}", "-"]
        async with _started(words, self.folder) as process:
            try:
                async with asyncio.timeout(self.timeout):
                    output, complaints = await process.communicate(self.text.encode("utf-8", "replace"))
            except TimeoutError as error:
                raise CheckFailedError(f"the check took longer than {self.timeout:g} s and was ended") from error
            status = await process.wait()
        if status == 0 or (output and status > 0):
            return output  # what could not be read is in the report, beside what could
        lines = complaints.decode(errors="replace").strip().splitlines()
        ended = f"ended by signal {-status}" if status < 0 else "no report"
        raise CheckFailedError(lines[-1].removeprefix("streamsan: ") if lines else ended)


@asynccontextmanager
async def _started(words: Sequence[str], folder: str) -> AsyncIterator[Process]:
    """Start streamsan in a folder; when the block ends, so do it and all that it started."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            sys.executable,
            # Not `-m` alone: the folder of a project is no place to import modules from.
            *("-P", "-m", "streamsan", *words),
            cwd=folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    )
    try:
        # A start that is cancelled half way would end the process only, and then wait for who else has its pipes.
        yield await asyncio.shield(starting)
    finally:
        process = await starting
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
