"""Sources that others wrote, read by `streamsan check`: what is reached, what is reported, and what of that is right.

    python bench/public_sources.py CHECKOUTS [--only WORD] [--most N] [--jobs N] [--seconds N] [--json FILE]
                                   [--again FILE]
    python bench/public_sources.py --told FILE [FILE ...]

`public_sources.toml` lists public repositories: commit, folders, headers' folders, how many files. A checkout is
CHECKOUTS/owner+name. Nothing of them is in this repository. Each file is checked by itself, in a process of its own, as
`streamsan check FILE -I HEADERS` does. Prints a line for each repository: files, those that were not read to a result
(crashes, and hangs: more than `--seconds` of processor time), calls of CUDA in these files (those of headers count
where the header is checked itself), those of them that `#if` leaves out, those that a path came to, with their share
of all and of what `#if` leaves in, errors and warnings; below it why calls were not reached, slow files, and errors and
warnings that `public_sources_verdicts.toml` does not judge. `--most`: so many of the smallest files. `--json` keeps a
line for each file as soon as it is known; with `--again` files of an earlier such file are not read again. `--told`
prints the same of such files alone. Exits with 1 where a file crashed or hung, or a finding is not judged.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import multiprocessing
import os
import re
import resource
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LISTED = HERE / "public_sources.toml"
VERDICTS = HERE / "public_sources_verdicts.toml"
SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx")
FEWEST_CALLS = 2
"""a file is taken if its text has so many calls of CUDA or launches"""
SLOW_SECONDS = 60.0
WAITS_FOR = 20
"""a process may take so many times its limit, on a machine that does other things too"""
MOST_REASONS = 25
COLUMNS = (
    "files",
    "crashes",
    "hangs",
    "calls",
    "in #if",
    "reached",
    "%",
    "% left in",
    "errors",
    "warnings",
    "true",
    "debatable",
    "false",
)
_CALL = re.compile(
    rb"\bcuda(?:Malloc|Free|Memcpy|Memset|Stream|Event|Device|Graph|Launch|Host|Set|Get|Mem)\w*\s*\(|<<<"
    rb"|\bcu(?:Mem|Launch|Stream|Event|Ctx|Graph|Module|Device)[A-Z]\w*\s*\("
)
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a checkout, and where its headers are."""

    repository: str
    name: str
    checkout: Path
    headers: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.checkout / self.name


def sources_of(checkouts: Path, only: str = "") -> Iterator[Source]:
    """Yield the files that the list names, in their order."""
    for repository, table in _listed().items():
        checkout = _checkout(checkouts, repository)
        if not checkout.is_dir():
            print(f"{repository}: no checkout at {checkout}", file=sys.stderr)
            continue
        for name in _chosen(checkout, table):
            if only in f"{repository}/{name}":
                yield source_of(checkouts, repository, name)


def source_of(checkouts: Path, repository: str, name: str) -> Source:
    """Return a file of a repository of the list."""
    checkout = _checkout(checkouts, repository)
    headers = (checkout / each for each in _listed()[repository].get("headers", ()))
    return Source(repository, name, checkout, tuple(str(each) for each in headers if each.is_dir()))


def _checkout(checkouts: Path, repository: str) -> Path:
    return checkouts / repository.replace("/", "+")


@functools.cache
def _listed() -> dict[str, Record]:
    return tomllib.loads(LISTED.read_text(encoding="utf-8"))


def _chosen(checkout: Path, table: Record) -> list[str]:
    """Return names of files that have calls of CUDA, evenly of all that there are, so many as the list wants."""
    left_out = re.compile(table.get("without", r"(?!)"))
    names = {
        str(path.relative_to(checkout))
        for folder in table.get("folders", ["."])
        for path in (sorted(checkout.glob(folder)) if folder != "." else [checkout])
        for path in ([path] if path.is_file() else sorted(path.rglob("*")))
        if path.suffix in SUFFIXES and path.is_file()
    }
    found = [
        name
        for name in sorted(names)
        if not left_out.search(name) and len(_CALL.findall((checkout / name).read_bytes())) >= FEWEST_CALLS
    ]
    most = table.get("files", len(found))
    return found if len(found) <= most else [found[number * len(found) // most] for number in range(most)]


def check(source: Source) -> Record:
    """Check a file in this process, and return what came of it."""
    import streamsan

    report = streamsan.check([source.path], include_dirs=source.headers, fixes=False)
    checkout = f"{source.checkout.resolve()}{os.sep}"

    def inside(file: str) -> str:
        return os.path.realpath(file).removeprefix(checkout)

    return {
        "findings": [
            {
                "code": each.code,
                "severity": str(each.severity.value),
                "file": inside(each.location.file),
                "line": each.location.line,
                "message": each.message,
                "related": [f"{one.role} {inside(one.file)}:{one.line}" for one in each.related],
            }
            for each in report.findings
            if each.severity.value != "note"
        ],
        "reached": [f"{inside(each.file)}:{each.line}:{each.column}" for each in sorted(report.unread.reached)],
        "missed": {
            f"{inside(place.file)}:{place.line}:{place.column}": [str(why.obstacle), why.reason]
            for place, why in sorted(report.unread.missed.items())
        },
        "includes": len(report.unread.includes),
        "problems": [each.message for each in report.problems],
    }


def _load() -> None:
    """Load all that a check needs: once, and then there in each process."""
    import streamsan

    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.cu"
        small.write_text("int main() { int* d; cudaMalloc(&d, 4); cudaFree(d); cudaFree(d); }", encoding="utf-8")
        streamsan.check([small], fixes=False)


def _work(source: Source, answer: Connection, seconds: float) -> None:
    limit = math.ceil(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    try:
        result = check(source)
        used = resource.getrusage(resource.RUSAGE_SELF)
        answer.send({**result, "seconds": round(used.ru_utime + used.ru_stime, 2)})
    except BaseException as error:
        answer.send({"crash": f"{type(error).__name__}: {error}"})


def checked(sources: Iterable[Source], jobs: int, seconds: float) -> Iterator[Record]:
    """Check files side by side, each in a process of its own, and yield a record of each as soon as there is one."""
    _load()
    context = multiprocessing.get_context("fork")
    running: dict[Connection, tuple[Source, BaseProcess, float]] = {}
    pending = iter(sources)
    while True:
        for source in itertools.islice(pending, jobs - len(running)):
            mine, others = context.Pipe(duplex=False)
            process: BaseProcess = context.Process(target=_work, args=(source, others, seconds))
            process.start()
            others.close()
            running[mine] = (source, process, time.monotonic())
        if not running:
            return
        for answer in wait(list(running), timeout=1.0):
            assert isinstance(answer, Connection)
            source, process, begin = running.pop(answer)
            try:
                result = answer.recv()
            except EOFError:
                process.join()
                ended = process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
                result = {"hang": True} if ended else {"crash": f"the process ended with status {process.exitcode}"}
            process.join()
            yield _record(source, result, time.monotonic() - begin)
        for answer, (source, process, begin) in list(running.items()):
            if time.monotonic() - begin > WAITS_FOR * seconds:
                process.kill()
                process.join()
                del running[answer]
                yield _record(source, {"hang": True}, time.monotonic() - begin)


def _record(source: Source, result: Record, seconds: float) -> Record:
    defect = next((each for each in result.get("problems", ()) if "internal error" in each), None)
    if defect:
        result["crash"] = defect
    return {
        "repository": source.repository,
        "file": source.name,
        "path": str(source.path),
        "seconds": round(seconds, 2),
        **result,
    }


def listed_verdicts() -> dict[tuple[str, str, int, str], Record]:
    """Return what was judged: (repository, file, line, rule) -> the entry of the list."""
    found: dict[tuple[str, str, int, str], Record] = {}
    if VERDICTS.exists():
        for each in tomllib.loads(VERDICTS.read_text(encoding="utf-8"))["finding"]:
            for line in each["lines"]:
                found[each["repository"], each["file"], line, each["rule"]] = each
    return found


def told(records: Sequence[Record]) -> tuple[list[str], bool]:
    """Return the lines that say what came of all files, and whether every file was read and every finding judged."""
    verdicts = listed_verdicts()
    by_repository: dict[str, list[Record]] = {}
    for record in records:
        by_repository.setdefault(record["repository"], []).append(record)
    total: Counter[str] = Counter()
    lines = [f"| repository | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    reasons: Counter[str] = Counter()
    not_judged: list[str] = []
    for repository, files in by_repository.items():
        counts: Counter[str] = Counter(files=len(files))
        ours = {each["file"] for each in files}
        reached = {place for each in files for place in each.get("reached", ()) if _file(place) in ours}
        missed = {
            place: why
            for each in files
            for place, why in each.get("missed", {}).items()
            if place not in reached and _file(place) in ours
        }
        counts["calls"] = len(reached) + len(missed)
        counts["reached"] = len(reached)
        counts["in #if"] = sum(why[0].startswith("in inactive") for why in missed.values())
        reasons.update(why[0] if why[0].startswith("in inactive") else _plain(why) for why in missed.values())
        counts["crashes"] = sum("crash" in each for each in files)
        counts["hangs"] = sum("hang" in each for each in files)
        findings = {(one["file"], one["line"], one["code"]): one for each in files for one in each.get("findings", ())}
        for (file, line, code), one in sorted(findings.items()):
            counts[f"{one['severity']}s"] += 1
            verdict = verdicts.get((repository, file, line, code))
            if verdict is None:
                not_judged.append(f"{one['severity']} {code} {repository}/{file}:{line}: {one['message']}")
            else:
                counts[verdict["verdict"]] += 1
        total += counts
        lines.append(_row(repository, counts))
    lines += [_row("all", total), "", "calls that were not reached:"]
    lines += [f"  {count:5} {reason}" for reason, count in reasons.most_common(MOST_REASONS)]
    wrong = [each for each in records if "crash" in each or "hang" in each]
    lines += [f"crash: {each['repository']}/{each['file']}: {each['crash']}" for each in wrong if "crash" in each]
    lines += [f"hang: {each['repository']}/{each['file']}" for each in wrong if "hang" in each]
    slow = [each for each in records if each["seconds"] > SLOW_SECONDS and "hang" not in each]
    lines += [f"slow: {each['seconds']:.0f} s {each['repository']}/{each['file']}" for each in slow]
    lines += [f"not judged: {each}" for each in not_judged]
    return lines, not (wrong or not_judged)


def _file(place: str) -> str:
    return place.rsplit(":", 2)[0]


def _plain(why: Sequence[str]) -> str:
    """Return a reason without the names in it."""
    return "nothing that was read calls its function" if why[1].startswith("nothing that was read") else why[1]


def _row(name: str, counts: Counter[str]) -> str:
    shares = {
        "%": _share(counts["reached"], counts["calls"]),
        "% left in": _share(counts["reached"], counts["calls"] - counts["in #if"]),
    }
    cells = [shares[column] if column in shares else f"{counts[column]:,}" for column in COLUMNS]
    return f"| {name} | {' | '.join(cells)} |"


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.1f}" if of else "-"


def read_records(files: Iterable[str]) -> list[Record]:
    """Return what earlier runs wrote; of a file that was read twice the later."""
    found: dict[tuple[str, str], Record] = {}
    for file in files:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            found[record["repository"], record["file"]] = record
    return list(found.values())


def main() -> int:
    """Check the files of checkouts, or tell what earlier runs found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="?", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--json")
    parser.add_argument("--again")
    parser.add_argument("--told", nargs="+", default=[])
    options = parser.parse_args()
    records = read_records(options.told)
    if options.checkouts is None and not options.told:
        parser.error("which checkouts?")
    if options.checkouts is not None:
        earlier = {(each["repository"], each["file"]): each for each in read_records(filter(None, [options.again]))}
        sources = sorted(sources_of(options.checkouts, options.only), key=lambda each: each.path.stat().st_size)
        sources = sources[: options.most]
        records += [earlier[key] for each in sources if (key := (each.repository, each.name)) in earlier]
        left = [each for each in sources if (each.repository, each.name) not in earlier]
        for number, record in enumerate(checked(left, options.jobs, options.seconds), 1):
            records.append(record)
            if options.json:
                with open(options.json, "a", encoding="utf-8") as kept:
                    print(json.dumps(record), file=kept)
            if sys.stderr.isatty():
                print(f"\r{number} of {len(left)}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    lines, fine = told(records)
    print("\n".join(lines))
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
