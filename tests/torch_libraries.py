"""The libraries of PyTorch's allocator, of versions whose entries differ, taken out of their wheels without the rest.

`python tests/torch_libraries.py` fetches them: about 1 MB each, from the package index that pip is configured for, by
requests for parts of the wheels. Tests never do: they are skipped where that was not done.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

VERSIONS = ("2.6.0", "2.11.0", "2.15.0")
"""2.6 does not tell which blocks are a private pool's; between 2.11 and 2.15 the table of functions changed."""
_MEMBERS = ("torch/lib/libc10.so", "torch/lib/libc10_cuda.so")
_MOST_BYTES = 64 << 20


def cached(version: str) -> Path:
    """Return where a version's `libc10_cuda.so` is, once it was fetched; `libc10.so` lies beside it."""
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(caches, "streamsan-tests", f"torch-{version}", "libc10_cuda.so")


def fetch(version: str) -> None:
    """Fetch a version's libraries, unless they are there.

    Raises whatever pip, the network and the archive raise.
    """
    target = cached(version).parent
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder, "libraries")
        made.mkdir()
        _take_out(version, made)
        try:
            made.rename(target)
        except OSError:
            if not target.exists():  # else another process was faster
                raise


def _take_out(version: str, folder: Path) -> None:
    """Write the members of the version's wheel that are wanted into a folder."""
    # pip knows its index, its proxies and its certificates, and how to read a wheel from afar; it offers no command for
    # a part of one.
    from pip._internal.cli.cmdoptions import make_target_python
    from pip._internal.commands import create_command
    from pip._internal.network.lazy_wheel import LazyZipOverHTTP
    from pip._vendor.packaging.specifiers import SpecifierSet

    command = create_command("download")
    # The libraries are the same for each Python.
    words = ["--only-binary=:all:", "--python-version=3.11", "--retries=1", "--timeout=20", "--quiet"]
    options, _ = command.parse_args([*words, "torch"])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session, make_target_python(options))
        found = finder.find_best_candidate("torch", SpecifierSet(f"=={version}")).best_candidate
        if found is None:
            raise LookupError("the index has no wheel of it for this machine")
        with zipfile.ZipFile(LazyZipOverHTTP(found.link.url_without_fragment, session, 1 << 20)) as wheel:
            for member in _MEMBERS:
                if wheel.getinfo(member).file_size > _MOST_BYTES:
                    raise ValueError(f"{member} is too large")
                (folder / Path(member).name).write_bytes(wheel.read(member))


def main() -> int:
    """Fetch all versions, and say of each whether the tests will run beside it."""

    def outcome(version: str) -> str:
        try:
            fetch(version)
        except Exception as error:  # of pip's insides, which may be anything
            return f"the recorder is NOT tested beside it: {type(error).__name__}: {error}"
        return "the recorder is tested beside its allocator"

    with ThreadPoolExecutor(len(VERSIONS)) as threads:
        for version, words in zip(VERSIONS, threads.map(outcome, VERSIONS), strict=True):
            print(f"PyTorch {version}: {' '.join(words.split())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
