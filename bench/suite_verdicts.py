"""Of what was reported in the frameworks' own tests: what is right, and what nobody has looked at.

    python bench/suite_verdicts.py OUT/results.json ...

prints a line for each suite from what `bench/framework_suites.py` wrote: tests, those that ended alike plain and
recorded, errors and warnings, those of them that `suite_verdicts.toml` says are right, and below the table the others.
"""

from __future__ import annotations

import fnmatch
import gzip
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

COLUMNS = ("suite", "tests", "ended alike", "operations", "errors and warnings", "right", "not known to be right")


def listed() -> list[dict[str, Any]]:
    """Return the findings that are right, as the list has them."""
    text = Path(__file__).with_name("suite_verdicts.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["right"]
    return found


def is_right(group: str, finding: dict[str, Any], verdicts: Sequence[dict[str, Any]]) -> bool:
    """Tell whether the list has a finding of a group."""
    place = finding.get("location") or {}
    file, line = Path(place.get("file", "")).name, place.get("line", 0)
    return any(
        each["suite"] in (group, group.partition("/")[0])
        and fnmatch.fnmatch(file, each["file"])
        and finding["code"] in each["found"]
        and (not each["found"][finding["code"]] or line in each["found"][finding["code"]])
        for each in verdicts
    )


def table(groups: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines of the table, and below it what is not known to be right."""
    verdicts = listed()
    suites: dict[str, Counter[str]] = {}
    below = []
    for group in groups:
        counts = suites.setdefault(group["name"].partition("/")[0], Counter())
        both = [pair for pair in group["tests"].values() if pair[0] and pair[1]]
        findings = [one for run in group["recorded"] for one in run["findings"]]
        right = [is_right(group["name"], one, verdicts) for one in findings]
        counts["tests"] += len(both)
        counts["ended alike"] += sum(pair[0] == pair[1] for pair in both)
        counts["operations"] += sum(run["operations"] for run in group["recorded"])
        counts["errors and warnings"] += len(findings)
        counts["right"] += sum(right)
        counts["not known to be right"] += len(findings) - sum(right)
        for one, known in zip(findings, right, strict=True):
            if not known:
                place = one.get("location") or {}
                below.append(
                    f"{group['name']}: {one['code']} {Path(place.get('file', '')).name}:{place.get('line', 0)}: "
                    f"{one['message']}"
                )
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for suite, counts in suites.items():
        lines.append(f"| {suite} | {' | '.join(f'{counts[name]:,}' for name in COLUMNS[1:])} |")
    return [*lines, "", *below]


def main() -> int:
    """Print the table; return 1 where something is not known to be right."""
    groups: list[dict[str, Any]] = []
    for name in sys.argv[1:]:
        content = Path(name).read_bytes()
        groups += json.loads(gzip.decompress(content) if name.endswith(".gz") else content)["groups"]
    lines = table(groups)
    print("\n".join(lines))
    return int(lines[-1] != "")


if __name__ == "__main__":
    sys.exit(main())
