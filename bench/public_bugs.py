"""The table of docs/public-bugs.md: what each tool said of the pairs that were written after public bugs.

`python bench/public_bugs.py tests/traces/pools/verdicts.jsonl` prints it from what `bench/recorded_litmus.py --pools
--verdicts FILE` wrote down on a GPU; it needs none itself.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from litmus_verdicts import OVER_LIMIT, UNAVAILABLE, Verdict, read  # noqa: E402

PROGRAMS = ROOT / "tests" / "litmus" / "pools"
OTHERS = {
    "PyTorch's CUDA Sanitizer": "CSAN",
    "compute-sanitizer memcheck, stream-ordered races": "memcheck",
}
"""tools whose word stands in the table, by their short names"""
_BUG = re.compile(r"(?P<mistake>.+) \((?P<bug>[^()]+ \d+)\)\.$")


def bug_of(name: str) -> tuple[str, str] | None:
    """Return what a program does wrong, and the public bug it was written after; None for one with no such bug."""
    text = ast.get_docstring(ast.parse((PROGRAMS / f"{name}.py").read_text(encoding="utf-8")))
    match = _BUG.match(text.splitlines()[0]) if text else None
    return (match["mistake"], match["bug"]) if match else None


def found(verdict: Verdict) -> str:
    """Return how `streamsan run` shows a mistake."""
    for way, words in (("plain", "yes"), ("host", "with `--host-accesses`")):
        if way in verdict.recorded and verdict.is_loud(way):
            return words
    return "no" if any(verdict.missing(way) for way in verdict.recorded) else "as a note"


def said(verdict: Verdict, tool: str) -> str:
    """Return whether another tool said anything of a wrong program."""
    run = verdict.others.get(tool)
    if run is None or run.status == UNAVAILABLE:
        return ""
    if run.errors:
        return "yes"
    return "took too long" if run.status == OVER_LIMIT else "no"


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the lines of the table: a wrong program each."""
    tools = [tool for tool in OTHERS if any(tool in verdict.others for verdict in verdicts)]
    titles = ("after", "the program", "rule", "wrong results", "`streamsan run`", *(OTHERS[tool] for tool in tools))
    lines = [
        f"| {' | '.join(titles)} |",
        f"|---|---|---|---|---|{'---|' * len(tools)}",
    ]
    for verdict in verdicts:
        bug = bug_of(verdict.name) if verdict.wrong else None
        if bug is None:
            continue
        rules = ", ".join(sorted({code for _, code in verdict.marks}))
        numbers = " of ".join(map(str, verdict.plain.numbers)) if verdict.plain.numbers else "not run"
        others = " | ".join(said(verdict, tool) for tool in tools)
        lines.append(f"| {bug[1]} | {bug[0]} | {rules} | {numbers} | {found(verdict)} | {others} |")
    return lines


def main() -> None:
    """Print the table of the file that the command line names."""
    print("\n".join(table(read(Path(sys.argv[1])))))


if __name__ == "__main__":
    main()
