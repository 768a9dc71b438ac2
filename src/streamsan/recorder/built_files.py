"""Where the build has put the recorder's libraries."""

from __future__ import annotations

from pathlib import Path

import streamsan.recorder


def built_file(name: str) -> Path | None:
    """Return a file of this package that the build makes; None when this installation was built without it.

    An editable installation has two folders of the package: the sources, and what was built.
    """
    places = (Path(folder).resolve() / name for folder in streamsan.recorder.__path__)
    return next((path for path in places if path.is_file()), None)
