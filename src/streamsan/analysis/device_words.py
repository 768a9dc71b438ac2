"""Which sources have to do with a device at all: a quick look for words, before anything is read in earnest."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.platforms import CUDA, OPENCL

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
LARGEST = 8 << 20
"""bytes of a file that is looked through; a larger one counts as one that has such words"""


class DeviceWords:
    """Looks for a platform's words in sources and in the headers that they include, each file once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bool, tuple[str, ...]]] = {}

    def found_in(self, path: str, compiler: CompilerOptions) -> bool:
        """Tell whether a source, or a header that it includes, has such a word. True where that cannot be seen."""
        folders = (*compiler.quote_dirs, *compiler.include_dirs, *compiler.system_dirs)
        pending, seen = [os.path.realpath(path)], set()
        pending += _resolved(compiler.forced_includes, (Path(), *folders))
        while pending:
            file = pending.pop()
            if file in seen:
                continue
            seen.add(file)
            has_word, included = self._look(file)
            if has_word:
                return True
            pending += _resolved(included, (os.path.dirname(file), *folders))
        return False

    def _look(self, file: str) -> tuple[bool, tuple[str, ...]]:
        """Return whether a file itself has such a word, and the names that it includes."""
        if file not in self._known:
            try:
                size = os.path.getsize(file)
                if size > LARGEST:
                    return True, ()
                # Files of /proc have no size, and may never end.
                text = Path(file).read_text(encoding="utf-8", errors="replace") if size else ""
            except OSError:
                return True, ()
            if any(platform.has_word(text) for platform in (CUDA, OPENCL)):
                self._known[file] = True, ()
            else:
                self._known[file] = False, tuple(_INCLUDE.findall(text))
        return self._known[file]


def _resolved(names: Iterable[str], folders: Sequence[str | Path]) -> Iterator[str]:
    """Yield the real paths of the includes that are at hand; those of the system mostly are not."""
    for name in names:
        for folder in folders:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield os.path.realpath(path)
                break
