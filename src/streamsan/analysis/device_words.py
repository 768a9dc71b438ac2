"""Which sources have to do with a device at all: a quick look for words, before anything is read in earnest."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from streamsan.platforms import CUDA

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
LARGEST = 8 << 20
"""bytes of a file that is looked through; a larger one counts as one that has such words"""


class DeviceWords:
    """Looks for a platform's words in sources and in the headers that they include, each file once."""

    def __init__(self, include_dirs: Sequence[str] = ()) -> None:
        self._include_dirs = include_dirs
        self._known: dict[str, tuple[bool, tuple[str, ...]]] = {}

    def found_in(self, path: str) -> bool:
        """Tell whether a source, or a header that it includes, has such a word. True where that cannot be seen."""
        pending, seen = [os.path.realpath(path)], set()
        while pending:
            file = pending.pop()
            if file in seen:
                continue
            seen.add(file)
            has_word, included = self._look(file)
            if has_word:
                return True
            pending += included
        return False

    def _look(self, file: str) -> tuple[bool, tuple[str, ...]]:
        """Return whether a file itself has such a word, and the files that it includes, as far as they are at hand."""
        if file not in self._known:
            try:
                size = os.path.getsize(file)
                if size > LARGEST:
                    return True, ()
                # Files of /proc have no size, and may never end.
                text = Path(file).read_text(encoding="utf-8", errors="replace") if size else ""
            except OSError:
                return True, ()
            if CUDA.source_word.search(text):
                self._known[file] = True, ()
            else:
                included = (self._resolved(name, os.path.dirname(file)) for name in _INCLUDE.findall(text))
                self._known[file] = False, tuple(path for path in included if path)
        return self._known[file]

    def _resolved(self, name: str, beside: str) -> str:
        """Return the real path of an include, "" where it is not at hand: a system's header, mostly."""
        for folder in (beside, *self._include_dirs):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return os.path.realpath(path)
        return ""
