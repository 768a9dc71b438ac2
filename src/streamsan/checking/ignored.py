"""Which files below a folder are left out: `--exclude` patterns, and what git ignores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from streamsan.checking.option_error import OptionError

LARGEST = 1 << 20
"""bytes of a .gitignore that is read"""


class Ignored:
    """Tells which paths below a folder are left out. Patterns are those of .gitignore files.

    A pattern of `--exclude` may begin at that folder or at the current one. Raises OptionError for one that is none.
    """

    def __init__(self, folder: str, exclude: Sequence[str] = ()) -> None:
        self._bases = {os.path.abspath(folder), os.path.abspath(os.curdir)}
        try:
            self._excluded = GitIgnoreSpec.from_lines(exclude)
        except ValueError as error:
            raise OptionError(f"--exclude: {error}") from error
        self._rules: dict[str, GitIgnoreSpec | None] = {}
        self._repository = _repository(os.path.abspath(folder))

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether a file or a folder is left out."""
        whole = os.path.abspath(path)
        end = "/" if is_folder else ""
        for base in self._bases:
            if whole.startswith(base.rstrip("/") + "/") and self._excluded.match_file(
                os.path.relpath(whole, base) + end
            ):
                return True
        # The innermost .gitignore that has a word about the path decides.
        for folder in self._folders(whole):
            if folder not in self._rules:
                self._rules[folder] = _rules_of(Path(folder, ".gitignore"))
            rules = self._rules[folder]
            verdict = None if rules is None else rules.check_file(os.path.relpath(whole, folder) + end).include
            if verdict is not None:
                return verdict
        return False

    def _folders(self, path: str) -> Iterator[str]:
        """Yield the folders above a path, the innermost first, up to the repository's root; without one, none."""
        if self._repository is not None:
            for folder in Path(path).parents:
                yield str(folder)
                if str(folder) == self._repository:
                    return


def _rules_of(file: Path) -> GitIgnoreSpec | None:
    try:
        if not file.is_file() or file.stat().st_size > LARGEST:
            return None
        return GitIgnoreSpec.from_lines(file.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return None


def _repository(folder: str) -> str | None:
    """Return the root of the git repository that a folder lies in, None where it lies in none."""
    for candidate in (Path(folder), *Path(folder).parents):
        if (candidate / ".git").exists():
            return str(candidate)
    return None
