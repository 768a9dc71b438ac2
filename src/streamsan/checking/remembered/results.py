"""Results by what they were made of: a source that has not changed, with all that it includes, is not read again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import TypeVar

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.analysis.programs import Outline
from streamsan.analysis.source_options import SourceOptions
from streamsan.analysis.suffixes import SOURCE_SUFFIXES
from streamsan.checking.remembered.code_digest import code_digest
from streamsan.checking.remembered.entry import Kept, KeptOutline, KeptResult
from streamsan.checking.remembered.folder import Folder
from streamsan.cuda_syntax.file_content import content_of, decode
from streamsan.cuda_syntax.files_seen import digest_of
from streamsan.evidence.proofs import Proofs
from streamsan.trace.cache_folder import users_folder

Entry = TypeVar("Entry", bound=Kept)
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
    """Results of sources that are read with the same options, and have the same proofs sought; and their outlines."""

    def __init__(self, folder: Path, options: SourceOptions, proofs: Proofs) -> None:
        self._folder = Folder(folder)
        self._options = options
        self._proofs = proofs.words
        self._files: dict[str, tuple[str, bytes] | None] = {}
        """name -> digest and content: many sources include the same headers"""
        self._real_paths: dict[str, str] = {}

    def of_programs(self, options: SourceOptions) -> RememberedResults:
        """Return the results of sources of which it is known now, by their outlines, which are one program."""
        other = copy(self)
        other._options = options
        return other

    def find(self, path: str) -> Checked | None:
        """Return the result of a source, or of its program, if all that it depends on is as it was."""
        if os.path.splitext(path)[1].lower() not in SOURCE_SUFFIXES:
            return None
        entry = self._find(self._result_key(path, self._digest), KeptResult)
        return entry.checked(path, self._text) if entry is not None else None

    def keep(self, checked: Checked) -> None:
        """Remember the result of a source, where it depends on nothing but files."""
        contents = checked.seen.contents
        key = self._result_key(checked.path, lambda path: contents.get(str(Path(path))))
        entry = KeptResult.of(checked) if key else None
        if entry is not None and key:
            self._folder.put(key, entry.packed())

    def find_outline(self, path: str) -> Outline | None:
        """Return what a source defines and needs if nothing that it depends on has changed."""
        entry = self._find(self._outline_key(path, self._digest(path)), KeptOutline)
        return entry.outline(path) if entry is not None else None

    def keep_outline(self, outline: Outline) -> None:
        """Remember what a source defines and needs."""
        key = self._outline_key(outline.path, outline.seen.contents.get(str(Path(outline.path))))
        entry = KeptOutline.of(outline) if key else None
        if entry is not None and key:
            self._folder.put(key, entry.packed())

    def _find(self, key: str | None, kind: type[Entry]) -> Entry | None:
        data = self._folder.get(key) if key else None
        if data is None:
            return None
        # Whoever can write there may have written anything.
        with suppress(ValueError, TypeError, RecursionError):
            entry = kind.unpacked(data)
            if entry.depends.are_still_so(self._digest, self._real):
                return entry
        return None

    def _result_key(self, path: str, digest: Callable[[str], str | None]) -> str | None:
        """Return the key of a source with the others of its program; `digest` says what is in one."""
        program = self._options.program_of(path)
        return self._key(program, [digest(each) for each in program], ("result", self._proofs))

    def _outline_key(self, path: str, digest: str | None) -> str | None:
        return self._key((path,), [digest], ("outline",))

    def _key(self, paths: Sequence[str], digests: Sequence[str | None], kind: tuple[str | None, ...]) -> str | None:
        if None in digests:
            return None
        try:
            compiled = [tuple(self._options.configurations(path)) for path in paths]
        except UnreadableError:
            return None
        words = repr((code_digest(), paths, digests, compiled, kind))
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
