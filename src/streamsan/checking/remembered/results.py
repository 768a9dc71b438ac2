"""Results by what they were made of: a source that has not changed, with all that it includes, is not read again."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.analysis.source_options import SourceOptions
from streamsan.analysis.suffixes import SOURCE_SUFFIXES
from streamsan.checking.remembered.code_digest import code_digest
from streamsan.checking.remembered.entry import Entry
from streamsan.checking.remembered.folder import Folder
from streamsan.cuda_syntax.file_content import content_of, decode
from streamsan.cuda_syntax.files_seen import digest_of
from streamsan.evidence.proofs import Proofs
from streamsan.trace.cache_folder import users_folder

TURN_OFF = "STREAMSAN_NO_CACHE"
"""the variable that, where it is not empty, lets nothing be remembered"""


def remembered_results(folder: str, options: SourceOptions, proofs: Proofs) -> RememberedResults | None:
    """Return results that are remembered in a folder, "": in the user's own; None where nothing can be remembered.

    Results that depend on more than files and on options that have words are not.
    """
    users = users_folder()
    place = Path(folder) if folder else users and users / "sources"
    if place is None or options.contents or proofs.words is None or os.environ.get(TURN_OFF):
        return None
    return RememberedResults(place, options, proofs)


class RememberedResults:
    """Results of sources that are read with the same options, and have the same proofs sought."""

    def __init__(self, folder: Path, options: SourceOptions, proofs: Proofs) -> None:
        self._folder = Folder(folder)
        self._options = options
        self._proofs = proofs.words
        self._files: dict[str, tuple[str, bytes] | None] = {}
        """name -> digest and content: many sources include the same headers"""
        self._real_paths: dict[str, str] = {}

    def find(self, path: str) -> Checked | None:
        """Return the result of a source if nothing that it depends on has changed."""
        if os.path.splitext(path)[1].lower() not in SOURCE_SUFFIXES:
            return None
        digest = self._digest(path)
        key = digest and self._key(path, digest)
        data = self._folder.get(key) if key else None
        if data is None:
            return None
        # Whoever can write there may have written anything.
        with suppress(ValueError, TypeError, RecursionError):
            entry = Entry.unpacked(data)
            if entry.is_still_so(self._digest, self._real):
                return entry.checked(path, self._text)
        return None

    def keep(self, checked: Checked) -> None:
        """Remember the result of a source, where it depends on nothing but files."""
        digest = checked.seen.contents.get(str(Path(checked.path)))
        entry = Entry.of(checked) if digest else None
        key = digest and self._key(checked.path, digest)
        if entry is not None and key:
            self._folder.put(key, entry.packed())

    def _key(self, path: str, digest: str) -> str | None:
        try:
            if len(self._options.program_of(path)) > 1:
                return None  # a program of several sources: all of them decide
            compiled = self._options.configurations(path)
        except UnreadableError:
            return None
        words = repr((code_digest(), path, digest, tuple(compiled), self._proofs))
        return digest_of(words.encode("utf-8", "surrogatepass"))

    def _real(self, name: str) -> str:
        if name not in self._real_paths:
            self._real_paths[name] = os.path.realpath(name)
        return self._real_paths[name]

    def _digest(self, name: str) -> str | None:
        file = self._file(name)
        return file and file[0]

    def _text(self, name: str) -> str:
        file = self._file(name)
        assert file is not None  # its digest was asked for
        return decode(file[1])[0]

    def _file(self, name: str) -> tuple[str, bytes] | None:
        if name not in self._files:
            try:
                data = content_of(name)
                self._files[name] = digest_of(data), data
            except (OSError, ValueError):
                self._files[name] = None
        return self._files[name]
