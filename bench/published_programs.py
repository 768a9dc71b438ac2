"""Programs that others wrote, recorded in every way: do they behave as if they were not recorded, and what is reported?

    python bench/published_programs.py --samples CHECKOUT [CHECKOUT ...] [--only WORD] [--ways WAY ...]
        [--seconds N] [--results FILE] [--keep FOLDER]

`published_programs.toml` lists the programs of public repositories and their arguments; a checkout's folder has its
table's name (cuda-samples, HeCBench). Nothing of them is in this repository. The framework programs of
`bench/transparent` run, too. Each program is built with nvcc alone, run twice plainly, then once in each way; each
recording is checked. Needs a GPU and nvcc. Prints a line for each program and way (with `--results`, a line of JSON
as well, as soon as it is known); exits with 1 where a recorded program behaved differently. What is reported must be
looked at: published programs have mistakes, too.
"""

from __future__ import annotations

import argparse
import ctypes.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
STREAMSAN = [sys.executable, "-m", "streamsan"]
WAYS = {
    "default": (),
    "host": ("--host-accesses",),
    "exact": ("--accesses",),
    "both": ("--accesses", "--host-accesses"),
}
SOURCES = (".cu", ".cpp", ".c")
LIBRARIES = ("cublasLt", "cublas", "cufft", "curand", "cusolver", "cusparse", "nvrtc")
"""those whose headers have their names"""
KEEP_BYTES = 1 << 20
"""a recording is kept if it is no larger than this, packed"""
KEEP_ALL_BYTES = 24 << 20
"""so much is kept of all recordings together"""
CHECK_SECONDS = 90.0
SLOW = {"default": 2, "host": 2, "exact": 3, "both": 3}
"""a recorded run may take so many times a plain run's limit"""
_INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Program:
    """One program: a script, or a folder of sources."""

    name: str
    place: Path
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    headers: tuple[Path, ...] = ()

    @property
    def is_script(self) -> bool:
        """Whether Python runs it."""
        return self.place.suffix == ".py"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    status: int | None
    """exit status, negative for a signal; None: it took too long and was killed"""
    output: str
    errors: str
    seconds: float


@dataclass(slots=True)
class Result:
    """What came of one program."""

    program: Program
    why_not: str = ""
    """why it was not tried"""
    plain: Ran | None = None
    lines: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    """ways in which it behaved differently"""
    findings: dict[str, list[str]] = field(default_factory=dict)
    """way -> what was reported, errors and warnings"""
    not_checked: list[str] = field(default_factory=list)


class Clock:
    """When the whole run has to be over."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return how many seconds are left."""
        return self._end - time.monotonic()


def ran(command: Sequence[str], folder: Path, limit: float, environment: Mapping[str, str] | None = None) -> Ran:
    """Run a command, with this process's environment or its own; when it takes too long, end all that it started."""
    begin = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=max(limit, 0.1))
        status: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        status = None
    return Ran(status, output, errors, time.monotonic() - begin)


def listed(checkouts: Sequence[Path]) -> Iterator[Program]:
    """Yield the programs of checkouts, in the order of the list."""
    tables = tomllib.loads((HERE / "published_programs.toml").read_text(encoding="utf-8"))
    for checkout in checkouts:
        table = tables.get(checkout.name)
        if table is None:
            sys.exit(f"{checkout}: published_programs.toml has no table of this name; it has {', '.join(tables)}")
        headers = tuple(checkout / name for name in table["headers"])
        options = table.get("options", {})
        for name, arguments in table["programs"].items():
            place = checkout / table["folder"] / name
            yield Program(name, place, tuple(shlex.split(arguments)), tuple(options.get(name, "").split()), headers)


def sources_of(program: Program) -> tuple[list[Path], str]:
    """Return the sources that make up a program, and the text of all its files. What another file includes is none."""
    files = [path for path in sorted(program.place.rglob("*")) if path.is_file() and path.stat().st_size < 1 << 20]
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in files if _is_code(path)}
    names = {name for text in texts.values() for name in _INCLUDE.findall(text)}
    included = {Path(name).name for name in names}
    sources = [path for path in texts if path.suffix in SOURCES and path.name not in included]
    for folder in program.headers:
        for name in names:
            beside = folder / Path(name).with_suffix(".cpp").name
            if beside.exists() and not any(path.name == beside.name for path in sources):
                sources.append(beside)
    return sources, "\n".join(texts.values())


def _is_code(path: Path) -> bool:
    return path.suffix in (*SOURCES, ".cuh", ".h", ".hpp", ".inl")


def library_options(text: str) -> list[str]:
    """Return what links the libraries that a program's text names: of the toolkit, or of a framework's wheels."""
    options = ["-Xlinker", "--as-needed"]
    driver = ctypes.util.find_library("cuda")
    if driver and re.search(r"\bcu[A-Z]\w+\(", text):
        options += ["-Xlinker", f"-l:{driver}"]
    wheels = [Path(path) / "nvidia" for path in sys.path if (Path(path) / "nvidia").is_dir()]
    for name in LIBRARIES:
        if not re.search(rf"^\s*#\s*include.*\b(helper_)?{name}", text, re.MULTILINE):
            continue
        made = next((path for folder in wheels for path in sorted(folder.glob(f"*/lib/lib{name}.so.*"))), None)
        if _in_toolkit(f"lib{name}.so") or made is None:
            options.append(f"-l{name}")
        else:
            options += ["-Xlinker", str(made), "-Xlinker", f"-rpath={made.parent}"]
    for folder in wheels:
        for headers in sorted(folder.glob("*/include")):
            options += ["-Xcompiler", f"-idirafter,{headers}"]
    return options


def _in_toolkit(library: str) -> bool:
    home = Path(os.environ.get("CUDA_HOME") or "/usr/local/cuda")
    return any(home.glob(f"lib64/{library}")) or any(home.glob(f"targets/*/lib/{library}"))


def build(program: Program, folder: Path, gpu: str, clock: Clock) -> str:
    """Compile a program into a folder; return why there is none, or nothing. What is there is not built again."""
    target = folder / "program"
    if target.exists():
        return ""
    sources, text = sources_of(program)
    headers = [f"-I{path}" for path in (program.place, *program.headers)]
    headers += [f"-I{path}" for name in ("inc", "include") if (path := program.place / name).is_dir()]
    common = ["nvcc", f"-arch={gpu}", "-std=c++17", "-O2", "-g", "-lineinfo", "-w", *headers]
    for kind in ("fatbin", "ptx"):
        for source in sources if re.search(rf'\.?{kind}"', text) else ():
            if source.stem.endswith("_kernel"):
                ran([*common, f"-{kind}", "-o", f"{folder}/{source.stem}64.{kind}", str(source)], folder, clock.left())
    openmp = ["-Xcompiler", "-fopenmp"] if "omp.h" in text else []
    command = [*common, *openmp, *program.options, "-o", str(target), *map(str, sources), *library_options(text)]
    done = ran(command, folder, min(120.0, clock.left()))
    if done.status != 0:
        said = [line for line in (done.errors + done.output).splitlines() if "error" in line or "cannot find" in line]
        return f"did not build: {(said or ['too slow'])[0][-160:]}"
    return ""


Expected = Sequence[str | None] | None
"""the lines of a program's output, None where it varies; None: even their number varies"""


def steady(first: str, second: str) -> Expected:
    """Return the lines of a program's output; None where two plain runs differ (a time, an address)."""
    ones, others = first.splitlines(), second.splitlines()
    if len(ones) != len(others):
        return None
    return [one if one == other else None for one, other in zip(ones, others, strict=True)]


def compared(expected: Expected, output: str) -> str:
    """Say whether an output is the expected one: `same`, `numbers` where only numbers differ, or `DIFFERENT`."""
    if expected is None:
        return "varies by itself"
    lines = output.splitlines()
    if len(lines) != len(expected):
        return "DIFFERENT"
    pairs = [(one, other) for one, other in zip(expected, lines, strict=True) if one is not None]
    if all(one == other for one, other in pairs):
        return "same"
    return "numbers" if all(_words(one) == _words(other) for one, other in pairs) else "DIFFERENT"


def _program_lines(errors: str) -> str:
    """Return what a recorded program itself wrote to standard error: its last line may have no end."""
    return re.sub(r"streamsan: .*\n", "", errors)


def _words(line: str) -> str:
    return " ".join(re.sub(r"[-+]?(0x[0-9a-fA-F]+|\d+(\.\d*)?([eE][-+]?\d+)?|\b(inf|nan)\b)", "#", line).split())


def loud(report: Path) -> list[str]:
    """Return `CODE severity file:line` of each error and warning of a report; what could not be read, too."""
    try:
        document = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ["no report"]
    found = []
    for one in document["findings"]:
        if one["severity"] != "note":
            place = one.get("location") or {}
            found.append(f"{one['code']} {one['severity']} {Path(place.get('file', '')).name}:{place.get('line', '')}")
    return found


class Bench:
    """All programs, some at once."""

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self._given = given
        self._folder = folder
        self._clock = Clock(given.seconds)
        self._print = threading.Lock()
        self._counter = 0
        self._kept_bytes = 0

    def results(self, programs: Sequence[Program]) -> list[Result]:
        """Run all programs; return what came of each, in their order."""
        with ThreadPoolExecutor(self._given.at_once) as beside:
            return list(beside.map(self._one, programs))

    def _one(self, program: Program) -> Result:
        result = Result(program)
        with self._print:
            self._counter += 1
            folder = self._folder / str(self._counter)
        folder.mkdir()
        try:
            self._try(result, folder)
        except OSError as error:
            result.why_not = f"{type(error).__name__}: {error}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if result.why_not:
            self._write(result, why_not=result.why_not)
        with self._print:
            state = f" - {result.why_not}" if result.why_not else ""
            print(f"{program.name}{state}", *result.lines, sep="\n", flush=True)
        return result

    def _try(self, result: Result, folder: Path) -> None:
        program, given = result.program, self._given
        if self._clock.left() < given.limit / 2:
            result.why_not = "no time left"
            return
        if program.is_script:
            command, limit = [sys.executable, str(program.place)], given.limit * 4
        else:
            built = Path(given.build_folder).resolve() / program.name if given.build_folder else folder / "built"
            built.mkdir(parents=True, exist_ok=True)
            result.why_not = build(program, built, given.gpu, self._clock)
            for side in (*built.glob("*.fatbin"), *built.glob("*.ptx")):
                shutil.copy(side, folder)
            command, limit = [str(built / "program"), *program.arguments], given.limit
        if result.why_not:
            return
        work = self._work(program, folder)
        plains = [ran(command, work, min(limit, self._clock.left()))]
        result.plain = plains[0]
        if plains[0].status is None:
            result.why_not = "too long"
            return
        plains.append(ran(command, work, min(limit, self._clock.left())))
        if plains[0].status != plains[1].status:
            result.why_not = f"ends with {plains[0].status} and {plains[1].status} by itself"
            return
        expected = [steady(getattr(plains[0], name), getattr(plains[1], name)) for name in ("output", "errors")]
        last = (plains[0].errors + plains[0].output).strip().rpartition("\n")[2] if plains[0].status else ""
        result.lines.append(f"    plain    status {plains[0].status}, {plains[0].seconds:.1f} s {last[:160]}")
        for way in self._given.ways:
            if self._clock.left() < 3:
                result.not_checked.append(way)
                continue
            trace = folder / way / "run.sst"
            trace.parent.mkdir()
            words = [*STREAMSAN, "run", "--no-check", "-o", str(trace), *WAYS[way], "--", *command]
            done = ran(words, work, min(limit * SLOW[way], self._clock.left()))
            self._judge(result, way, trace, done, expected)
            shutil.rmtree(trace.parent, ignore_errors=True)
            if done.status is None and way == "exact":
                result.lines.append("    both     not tried: exact took too long")
                break

    def _work(self, program: Program, folder: Path) -> Path:
        """Return where a program runs: in a copy of its folder, beside what was built for it."""
        work = folder / "work"
        if program.is_script:
            work.mkdir()
            return work
        shutil.copytree(program.place, work)
        for made in folder.iterdir():
            if made.suffix in (".fatbin", ".ptx"):
                shutil.copy(made, work)
        return work

    def _judge(self, result: Result, way: str, trace: Path, done: Ran, expected: Sequence[Expected]) -> None:
        assert result.plain is not None
        if done.status is None and self._clock.left() < 3:
            result.not_checked.append(way)
            return
        report = trace.parent / "report.json"
        words = [*STREAMSAN, "check", "--exit-zero", "--no-fixes", "--format", "json", "--report", str(report)]
        checked = ran([*words, str(trace)], trace.parent, min(CHECK_SECONDS, self._clock.left()))
        said = loud(report) if checked.status == 0 else []
        if checked.status != 0:
            result.not_checked.append(way)
            why = "took too long" if checked.status is None else f"ended with {checked.status}"
            said = [f"check {why}: {checked.errors.strip()[-300:]}"]
        texts = (done.output, _program_lines(done.errors))
        same = [compared(lines, text) for lines, text in zip(expected, texts, strict=True)]
        differs = done.status != result.plain.status or "DIFFERENT" in same
        if differs:
            result.different.append(way)
        result.findings[way] = said
        status = "TOO LONG" if done.status is None else f"status {done.status}"
        result.lines.append(
            f"    {way:<8} {status}, {done.seconds:.1f} s, check {checked.seconds:.1f} s; output {same[0]}, "
            f"errors {same[1]}; {'; '.join(_counted(said)) or 'nothing reported'}"
        )
        self._write(
            result,
            way=way,
            exit=done.status,
            plain=result.plain.status,
            output=same[0],
            errors=same[1],
            findings=said,
            check=checked.status,
            seconds=[round(each.seconds, 2) for each in (result.plain, done, checked)],
        )
        if self._given.keep and (differs or said or "numbers" in same):
            self._keep(result, way, trace, done)

    def _write(self, result: Result, **facts: object) -> None:
        if self._given.results:
            line = json.dumps({"program": result.program.name} | facts)
            with self._print, open(self._given.results, "a", encoding="utf-8") as file:
                file.write(line + "\n")

    def _keep(self, result: Result, way: str, trace: Path, done: Ran) -> None:
        """Keep what a reader needs: both outputs, the report, and the recording where it is small."""
        place = Path(self._given.keep) / result.program.name.replace("/", ".") / way
        place.mkdir(parents=True, exist_ok=True)
        assert result.plain is not None
        outputs = {"plain.out": result.plain.output, "plain.err": result.plain.errors}
        outputs |= {"recorded.out": done.output, "recorded.err": done.errors}
        for name, text in outputs.items():
            (place / name).write_text(text[:20_000] + text[20_000:][-20_000:], encoding="utf-8", errors="replace")
        report = trace.parent / "report.json"
        if report.exists() and report.stat().st_size < KEEP_BYTES:
            shutil.copy(report, place)
        if sum(path.stat().st_size for path in trace.parent.rglob("*") if path.is_file()) > 16 * KEEP_BYTES:
            return
        packed = trace.parent.parent / f"{way}.tar.xz"
        subprocess.run(["tar", "-cJf", packed, "-C", trace.parent, "."], check=False, capture_output=True)
        size = packed.stat().st_size if packed.exists() else KEEP_BYTES
        with self._print:
            fits = size < KEEP_BYTES and self._kept_bytes + size < KEEP_ALL_BYTES
            self._kept_bytes += size if fits else 0
        if fits:
            shutil.copy(packed, place / "recording.tar.xz")


def _counted(said: Sequence[str]) -> list[str]:
    """Return each line once, with how often it is there."""
    return [f"{said.count(one)} x {one}" if said.count(one) > 1 else one for one in dict.fromkeys(said)]


def total(results: Sequence[Result]) -> int:
    """Print the counts; return how many programs behaved differently."""
    tried = [result for result in results if not result.why_not]
    print(f"\n{len(tried)} of {len(results)} programs ran; not tried:")
    for result in results:
        if result.why_not:
            print(f"    {result.program.name}: {result.why_not}")
    for way in WAYS:
        judged = [result for result in tried if way in result.findings and way not in result.not_checked]
        reported = [result for result in judged if result.findings[way]]
        print(
            f"{way}: {len(judged)} recorded and checked; something reported in {len(reported)}: "
            + ", ".join(f"{result.program.name} ({'; '.join(_counted(result.findings[way]))})" for result in reported)
        )
    different = [result for result in tried if result.different]
    print(f"behaved differently: {len(different)}")
    for result in different:
        print(f"    {result.program.name}: {', '.join(result.different)}")
    return len(different)


def main() -> int:
    """Run the programs; return 1 where one behaved differently."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", nargs="*", type=Path, default=[], metavar="CHECKOUT")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="WORD", help="programs with one of these in their name"
    )
    parser.add_argument("--first", type=Path, metavar="FILE", help="names, one a line: these first, in this order")
    parser.add_argument("--build-folder", metavar="FOLDER", help="build here; what is there is not built again")
    parser.add_argument("--gpu", default="native", help="as nvcc's -arch")
    parser.add_argument("--at-once", type=int, default=6, metavar="N", help="so many programs beside each other")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="of a plain run, see SLOW")
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS, help="so; default: all")
    parser.add_argument("--seconds", type=float, default=3600, metavar="N", help="begin no more after so long")
    parser.add_argument("--results", metavar="FILE", help="add a line of JSON here for each program and way")
    parser.add_argument("--keep", help="keep outputs, reports and recordings here, of what differs or is reported")
    given = parser.parse_args()
    scripts = [Program(path.name, path) for path in sorted((HERE / "transparent").glob("*.py"))]
    programs = [*scripts, *listed([path.resolve() for path in given.samples])]
    chosen = [each for each in programs if not given.only or any(word in each.name for word in given.only)]
    if given.first:
        first = given.first.read_text(encoding="utf-8").split()
        chosen.sort(key=lambda each: first.index(each.name) if each.name in first else len(first))
    with tempfile.TemporaryDirectory(prefix="streamsan-published-") as folder:
        results = Bench(given, Path(folder)).results(chosen)
    return int(total(results) > 0)


if __name__ == "__main__":
    sys.exit(main())
