"""Programs of public repositories with one wait, stream or order changed: are those that this breaks reported?

    python bench/mutations.py CHECKOUTS [--only WORD] [--jobs N] [--seconds N] [--json FILE]
    python bench/mutations.py CHECKOUTS --propose RECORDS [--each N]

`mutations.toml` lists mutants of the files of `public_sources.toml`: what is changed at which line, and, judged by hand
from the contract without streamsan, whether that breaks an order that the program needs. No code of them is here.
A mutant differs from its file in one thing:
  delete   the call is taken out: a wait, a record of an event, a wait of a stream for an event
  async    a synchronous copy becomes `cudaMemcpyAsync` on a new non-blocking stream
  stream   a launch or an asynchronous copy goes to a new non-blocking stream
  early    the call, a free, stands before the statement at line `to`
Each file alone must be silent (no error, no warning); a mutant counts as reported if there is one then. Prints what was
missed and what was reported though it is harmless, and the counts. Exits with 1 if a harmless one was reported.
`--propose` prints places to judge, in files that were silent when `public_sources.py --json RECORDS` read them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from public_sources import Record, Source, checked, read_records, source_of, sources_of

LISTED = Path(__file__).with_name("mutations.toml")
STREAM = "stream_of_the_mutant"
MADE = f"cudaStream_t {STREAM}; cudaStreamCreateWithFlags(&{STREAM}, cudaStreamNonBlocking);"
CONTEXT = 7
_WAIT = r"cudaStreamSynchronize|cudaDeviceSynchronize|cudaThreadSynchronize|cudaEventSynchronize|cudaStreamWaitEvent"
_PLACES = {
    "delete": re.compile(rf"\b({_WAIT}|cudaEventRecord)\s*\("),
    "async": re.compile(r"\b(cudaMemcpy)\s*\("),
    "stream": re.compile(r"(<<<)|\b(cudaMemcpyAsync)\s*\("),
}
"""what each change is made to; `early` is proposed by nobody"""


class UnfitError(Exception):
    """A mutant that its file does not admit: another commit, or a text that is not what the list says."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file, and what it does to the program."""

    repository: str
    file: str
    change: str
    line: int
    breaks: bool
    to: int = 0

    def of(self, text: str) -> str:
        """Return the text of the file with the change."""
        begin, end = statement_at(text, self.line)
        statement = text[begin:end]
        if self.change == "early":
            place, _ = statement_at(text, self.to)
            if not place < begin:
                raise UnfitError("it does not become earlier")
            return f"{text[:place]}{' '.join(statement.split())} {text[place:begin]}{text[end:]}"
        match = _PLACES[self.change].search(_without_literals(statement))
        if match is None:
            raise UnfitError(f"no place to {self.change} at line {self.line}: {statement[:60]!r}")
        if self.change == "delete":
            return text[:begin] + ";" + "\n" * statement.count("\n") + text[end:]
        if match[0] == "<<<":
            changed = _with_stream(statement, match.end(), 3, ">>>")
        else:
            changed = _with_stream(statement, match.end(), 4, ")")
            if self.change == "async":
                changed = changed[: match.end(1)] + "Async" + changed[match.end(1) :]
        return f"{text[:begin]}{{ {MADE} {changed} }}{text[end:]}"


def statement_at(text: str, line: int) -> tuple[int, int]:
    """Return where the statement that begins in a line begins and ends, its `;` included."""
    begin = 0
    for _ in range(line - 1):
        begin = text.index("\n", begin) + 1
    while text[begin].isspace():
        begin += 1
    if text.startswith("//", begin):
        raise UnfitError(f"a comment at line {line}")
    depth, at = 0, begin
    while at < len(text):
        if text[at] == '"':
            at = _behind_literal(text, at)
            continue
        if text.startswith("//", at):
            at = text.index("\n", at)
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth < 0:
            raise UnfitError(f"no whole statement at line {line}")
        at += 1
        if depth == 0 and text[at - 1] == ";":
            return begin, at
        if depth == 0 and text[at - 1] == ")" and re.match(r"[ \t]*\n", text[at:]) and _is_macro(text[begin:at]):
            return begin, at
    raise UnfitError(f"no statement at line {line}")


def _without_literals(text: str) -> str:
    """Return a text of the same length with blanks for its literals."""
    return re.sub(r'"(?:\\.|[^"\\])*"', lambda literal: " " * len(literal[0]), text)


def _behind_literal(text: str, at: int) -> int:
    at += 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _is_macro(text: str) -> bool:
    """Tell whether a call may be a macro that needs no `;`."""
    return re.match(r"[A-Z_0-9]+\(|CudaSafeCall|checkCudaErrors", text) is not None and "<<<" not in text


def _with_stream(statement: str, at: int, full: int, close: str) -> str:
    """Return a statement whose arguments from `at` on have the new stream as the last of `full` + 1."""
    arguments: list[int] = []
    depth, begin = 0, at
    while depth or not statement.startswith(close, at):
        depth += (statement[at] in "([{") - (statement[at] in ")]}")
        if statement[at] == "," and depth == 0:
            arguments.append(at)
        at += 1
        if at >= len(statement):
            raise UnfitError("arguments without an end")
    count = len(arguments) + 1
    if count > full:
        return f"{statement[: arguments[full - 1]]}, {STREAM}{statement[at:]}"
    missing = ", 0" * (full - count)
    assert begin <= at
    return f"{statement[:at]}{missing}, {STREAM}{statement[at:]}"


def listed(only: str) -> list[Mutant]:
    """Return the mutants of the list."""
    names = Mutant.__dataclass_fields__
    tables: list[dict[str, Any]] = tomllib.loads(LISTED.read_text(encoding="utf-8"))["mutant"]
    mutants = [Mutant(**{name: value for name, value in each.items() if name in names}) for each in tables]
    return [each for each in mutants if only in f"{each.repository}/{each.file}:{each.line}"]


def proposals(checkouts: Path, records: Sequence[Record], each: int) -> Iterator[str]:
    """Yield places to judge, each with its lines."""
    silent = {(one["repository"], one["file"]) for one in records if one.get("findings") == []}
    known = {(one.repository, one.file, one.change, one.line) for one in (listed("") if LISTED.exists() else [])}
    for source in sources_of(checkouts):
        if (source.repository, source.name) not in silent:
            continue
        text = source.path.read_text(encoding="utf-8", errors="replace")
        lines = text.split("\n")
        for change, place in _PLACES.items():
            numbers = [number for number, line in enumerate(lines, 1) if place.search(line)]
            for number in numbers[-each:]:
                if (source.repository, source.name, change, number) in known:
                    continue
                try:
                    Mutant(source.repository, source.name, change, number, True).of(text)
                except (UnfitError, ValueError, IndexError):
                    continue
                yield f"== {source.repository} {source.name} {change} {number}"
                first, last = max(number - CONTEXT, 1), min(number + CONTEXT, len(lines))
                yield from (f"{'>' if at == number else ' '}{at:5} {lines[at - 1]}" for at in range(first, last + 1))


def _sources(checkouts: Path, mutants: Sequence[Mutant], folder: Path) -> Iterator[tuple[Source, Mutant | None]]:
    """Yield the files that have mutants, then these, written below a folder."""
    wanted = dict.fromkeys((each.repository, each.file) for each in mutants)
    originals = {key: source_of(checkouts, *key) for key in wanted}
    yield from ((one, None) for one in originals.values() if one.path.is_file())
    for number, mutant in enumerate(mutants):
        original = originals[mutant.repository, mutant.file]
        if not original.path.is_file():
            print(f"not there: {mutant.repository}/{mutant.file}")
            continue
        try:
            text = mutant.of(original.path.read_text(encoding="utf-8", errors="replace"))
        except (UnfitError, ValueError, IndexError) as error:
            print(f"not made: {mutant}: {error}")
            continue
        written = Source(mutant.repository, mutant.file, folder / str(number), ())
        written.path.parent.mkdir(parents=True)
        written.path.write_text(text, encoding="utf-8")
        headers = (str(original.path.parent), *original.headers)
        yield Source(mutant.repository, mutant.file, written.checkout, headers), mutant


def run(checkouts: Path, mutants: Sequence[Mutant], jobs: int, seconds: float, kept: str) -> int:
    """Check files and mutants, print what was missed and the counts; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = list(_sources(checkouts, mutants, Path(folder)))
        by_place = {str(source.checkout / source.name): mutant for source, mutant in pairs}
        loud_alone: set[tuple[str, str]] = set()
        results: list[tuple[Mutant, Record]] = []
        for record in checked((source for source, _ in pairs), jobs, seconds):
            mutant = by_place[record["path"]]
            if kept:
                with open(kept, "a", encoding="utf-8") as file:
                    print(json.dumps({**record, "mutant": None if mutant is None else repr(mutant)}), file=file)
            if mutant is not None:
                results.append((mutant, record))
            elif record.get("findings") != []:
                loud_alone.add((record["repository"], record["file"]))
                print(f"not silent alone: {record['repository']}/{record['file']}")
    counts: Counter[str] = Counter()
    by_change: dict[str, Counter[str]] = {}
    for mutant, record in results:
        if (mutant.repository, mutant.file) in loud_alone:
            counts["left out: the file alone is not silent"] += 1
            continue
        loud = bool(record.get("findings"))
        kind = "breaking" if mutant.breaks else "harmless"
        counts[f"{kind} mutants"] += 1
        counts[f"{kind} mutants reported"] += loud
        by_change.setdefault(mutant.change, Counter())[f"{kind} {'reported' if loud else 'silent'}"] += 1
        if loud != mutant.breaks:
            codes = sorted({one["code"] for one in record.get("findings", ())})
            what = "reported though harmless" if loud else "missed"
            print(f"{what}: {mutant.repository}/{mutant.file}:{mutant.line} {mutant.change} {' '.join(codes)}".rstrip())
    for change, each in sorted(by_change.items()):
        print(f"{change}: {', '.join(f'{count} {what}' for what, count in sorted(each.items()))}")
    for what, count in sorted(counts.items()):
        print(f"{count:5} {what}")
    if counts["breaking mutants"]:
        share = 100 * counts["breaking mutants reported"] / counts["breaking mutants"]
        print(f"{share:.1f} % of those that break order were reported")
    return int(counts["harmless mutants reported"] > 0)


def main() -> int:
    """Check the mutants of the list, or propose more."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", default="")
    parser.add_argument("--propose")
    parser.add_argument("--each", type=int, default=1)
    options = parser.parse_args()
    if options.propose:
        for line in proposals(options.checkouts, read_records([options.propose]), options.each):
            print(line)
        return 0
    return run(options.checkouts, listed(options.only), options.jobs, options.seconds, options.json)


if __name__ == "__main__":
    sys.exit(main())
