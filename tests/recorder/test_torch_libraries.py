"""PyTorch's libraries out of wheels, from an index that serves parts of files, and from one that does not."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import torch_libraries

MEMBERS = {"torch/lib/libc10.so": b"base", "torch/lib/libc10_cuda.so": b"allocator", "torch/large": bytes(3 << 20)}


class Whole(SimpleHTTPRequestHandler):
    """Serves files as a whole."""

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


class Parts(Whole):
    """Serves parts of files, too."""

    def do_HEAD(self) -> None:
        """Say how large a wheel is, and that parts of it can be had."""
        self.answer(200, slice(None))

    def do_GET(self) -> None:
        """Send what is asked for."""
        wanted = self.headers.get("Range", "")
        if not wanted.startswith("bytes="):
            super().do_GET()
            return
        first, last = wanted.removeprefix("bytes=").split("-")
        self.wfile.write(self.answer(206, slice(int(first), int(last) + 1)))

    def answer(self, status: int, part: slice) -> bytes:
        """Send the head of an answer; return its body."""
        body = Path(self.translate_path(self.path)).read_bytes()[part]
        self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return body


@contextmanager
def index(folder: Path, handler: type[Whole]) -> Iterator[str]:
    """Serve an index with a wheel of each version."""
    wheels = folder / "simple" / "torch"
    wheels.mkdir(parents=True)
    for version in torch_libraries.VERSIONS:
        with zipfile.ZipFile(wheels / f"torch-{version}-py3-none-any.whl", "w") as wheel:
            for name, content in MEMBERS.items():
                wheel.writestr(name, content)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/simple"
        server.shutdown()
        thread.join()


def fetched(folder: Path, url: str) -> list[str]:
    """Fetch from an index; return what is said."""
    others = {
        name: value for name, value in os.environ.items() if not name.startswith("PIP_") and "proxy" not in name.lower()
    }
    environment = {**others, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": url, "XDG_CACHE_HOME": str(folder)}
    command = [sys.executable, torch_libraries.__file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_two_libraries_of_each_version_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with index(tmp_path / "index", Parts) as url:
        said = fetched(tmp_path / "cache", url)
    assert len(said) == len(torch_libraries.VERSIONS)
    assert all(line.endswith(": the recorder is tested beside its allocator") for line in said), said
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for version in torch_libraries.VERSIONS:
        folder = torch_libraries.cached(version).parent
        contents = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert contents == {"libc10.so": b"base", "libc10_cuda.so": b"allocator"}


def test_an_index_that_serves_no_parts_is_said(tmp_path: Path) -> None:
    with index(tmp_path / "index", Whole) as url:
        said = fetched(tmp_path / "cache", url)
    assert len(said) == len(torch_libraries.VERSIONS)
    assert all("is NOT tested beside it: HTTPRangeRequestUnsupported" in line for line in said), said
    assert not list((tmp_path / "cache").rglob("*.so"))
