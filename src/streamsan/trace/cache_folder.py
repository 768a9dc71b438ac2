"""The folder for what can be made again, this user's own, and files in it that are whole or not there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from streamsan.trace.private_file import make_private_file


def users_folder() -> Path | None:
    """Return the folder for what streamsan can make again; None where that is not known."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    with suppress(RuntimeError):
        return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "streamsan"
    return None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file for its owner alone, in one step: who reads it meanwhile finds the old one. Raises OSError."""
    temporary = path.with_name(f"{path.name}.{os.urandom(4).hex()}")
    try:
        with open(make_private_file(temporary), "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
