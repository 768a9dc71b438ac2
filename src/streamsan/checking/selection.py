"""`--select` and `--ignore`: codes, or the beginnings of codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from streamsan.checking.option_error import OptionError
from streamsan.findings.finding import Finding
from streamsan.findings.path_patterns import path_matches


class Selection(Struct, frozen=True):
    """The codes that are reported."""

    codes: frozenset[str]
    chosen: frozenset[str] = frozenset()
    """those that `--select` names"""
    ignored_in: tuple[tuple[str, frozenset[str]], ...] = ()
    """patterns of paths, each with the codes that are not reported there"""

    @classmethod
    def of(
        cls, select: Sequence[str], ignore: Sequence[str], per_path_ignores: Sequence[str], known: Iterable[str]
    ) -> Selection:
        """Make a selection from the options' values. Raises OptionError for a code that no rule has."""
        codes = list(known)
        chosen = matching("--select", select, codes) if select else frozenset(codes)
        kept = chosen - matching("--ignore", ignore, codes)
        ignored_in = []
        for value in per_path_ignores:
            pattern, _, words = value.rpartition("=")
            if not pattern:
                raise OptionError(f"--per-path-ignores: '{value}' is not PATTERN=CODES")
            ignored_in.append((pattern, matching("--per-path-ignores", [words], codes)))
        return cls(kept, kept if select else frozenset(), tuple(ignored_in))

    def keep(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings of selected codes."""
        return [finding for finding in findings if finding.code in self.codes and not self._is_ignored(finding)]

    def _is_ignored(self, finding: Finding) -> bool:
        return any(
            finding.code in codes and path_matches(pattern, finding.location.file) for pattern, codes in self.ignored_in
        )


def matching(option: str, values: Sequence[str], known: Sequence[str]) -> frozenset[str]:
    """Return the known codes that comma-separated beginnings of codes name. Raises OptionError for one of none."""
    result: set[str] = set()
    for word in (word.strip().upper() for value in values for word in value.split(",")):
        matches = {code for code in known if word and word.startswith("SS") and code.startswith(word)}
        if not matches:
            raise OptionError(f"{option}: unknown code '{word}' (`streamsan rule` lists all)")
        result |= matches
    return frozenset(result)
