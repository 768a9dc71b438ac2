"""Call sites: native and Python frames as the recorder reads them, against the unwinder and the interpreters.

Builds the code under test with a probe around it. The programs are in native/recorder/tests/sites.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from host_compiler import AT_LENGTH, COMPILER
from interpreters import interpreter

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
SOURCES = NATIVE / "recorder/sites"
PROGRAMS = NATIVE / "recorder/tests/sites"
ON_X86_64 = platform.machine() == "x86_64"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def sources() -> list[str]:
    """The library's files for this processor, as in its CMakeLists.txt."""
    left_out = "_generic" if ON_X86_64 else "_x86_64"
    names = sorted(path for path in SOURCES.glob("*.cpp") if not path.stem.endswith(left_out))
    return [str(path) for path in names if ON_X86_64 or path.stem != "unwind_rule"]


class Builder:
    """Compiles the probe once into a folder, and programs that use it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.options = [*WARNINGS, "-std=c++20", *options]
        # The library is one translation unit, as in the package's build; the probe reads the same headers.
        unit = folder / "sites.cc"
        unit.write_text("".join(f'#include "{source}"\n' for source in (*sources(), PROGRAMS / "probe.cpp")))
        self.compile("libprobe.so", str(unit), "-fPIC", "-shared")

    def compile(self, target: str, *arguments: str) -> Path:
        """Arguments that name a program's source or a library of this folder are completed to paths."""
        assert COMPILER is not None
        command = [
            COMPILER,
            *AT_LENGTH,
            *self.options,
            "-I",
            str(NATIVE / "recorder/tests/sites_fake"),
            "-I",
            str(NATIVE),
        ]
        for argument in arguments:
            command.append(str(PROGRAMS / argument) if re.fullmatch(r"\w+\.cpp", argument) else argument)
        command += ["-Wl,-rpath,$ORIGIN", "-ldl", "-pthread", "-o", target]
        subprocess.run(command, check=True, cwd=self.folder)
        return self.folder / target

    def compile_c(self, target: str, *arguments: str) -> Path:
        """A shared library of driver.c, with these options."""
        compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        assert compiler is not None
        command = [compiler, "-fPIC", "-shared", *arguments, str(PROGRAMS / "driver.c"), "-o", target]
        subprocess.run(command, check=True, cwd=self.folder)
        return self.folder / target

    def program(self, name: str, *options: str) -> Path:
        """A program of one source that uses the probe."""
        return self.compile(name, f"{name}.cpp", *options, "./libprobe.so")


def run(*command: str | Path, folder: Path | None = None) -> str:
    """The output of a program that must succeed."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=folder)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return result.stdout


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    return Builder(tmp_path_factory.mktemp("sites"), "-O2")


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    return Builder(tmp_path_factory.mktemp("sanitized"), "-O1", "-g1", *SANITIZERS)


NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
CHAINS = {
    "optimised": (["-O2"], ["-O2", *NO_TABLES]),
    "frame pointers": (["-O2", "-fno-omit-frame-pointer"], ["-O2", "-fno-omit-frame-pointer", *NO_TABLES]),
    "unoptimised": (["-O0"], ["-O0", *NO_TABLES]),
    "a driver with tables": (["-O3"], ["-O2"]),
}


IN_DEPTH = ("frame pointers", "a driver with tables", "unoptimised")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.deep) if kind in IN_DEPTH else kind for kind in CHAINS]
)
def test_native_chains_are_those_of_the_unwinder(builder: Builder, kind: str) -> None:
    options, driver_options = CHAINS[kind]
    name = kind.replace(" ", "_")
    builder.compile_c(f"libcuda.so.{name}", *driver_options)
    program = builder.compile(f"chains_{name}", "chains.cpp", *options, f"./libcuda.so.{name}", "./libprobe.so")
    output = run(program, folder=builder.folder)
    assert output.count("frames") > 15
    assert " 0 failures" in output


@pytest.mark.deep
def test_native_chains_under_the_address_sanitizer(sanitized: Builder) -> None:
    sanitized.compile_c("libcuda.so.plain", "-O2", *NO_TABLES)
    program = sanitized.compile("chains", "chains.cpp", "./libcuda.so.plain", "./libprobe.so")
    assert " 0 failures" in run(program, folder=sanitized.folder)


@pytest.mark.deep
def test_native_chains_under_the_thread_sanitizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    # The program looks sites up in a signal handler, where a first look allocates: that is the program's sin.
    monkeypatch.setenv("TSAN_OPTIONS", "report_signal_unsafe=0")
    builder = Builder(tmp_path, "-O1", "-g1", "-fsanitize=thread")
    builder.compile_c("libcuda.so.plain", "-O2", *NO_TABLES)
    program = builder.compile("chains", "chains.cpp", "./libcuda.so.plain", "./libprobe.so")
    assert " 0 failures" in run(program, folder=tmp_path)


@pytest.fixture(scope="module")
def before_main(builder: Builder) -> str:
    return str(builder.compile("before_main.o", "before_main.cpp", "-fPIE", "-c"))


@pytest.mark.parametrize("model", ["-pie", "-no-pie"])
def test_main_has_begun_everywhere_but_in_constructors(builder: Builder, before_main: str, model: str) -> None:
    program = builder.compile(f"before{model}", before_main, model, "./libprobe.so")
    answers = dict(line.split() for line in run(program, folder=builder.folder).splitlines())
    before = "0" if ON_X86_64 else "1"
    assert answers == {
        "attribute-constructor": before,
        "table-program": before,
        "constructor": before,
        "thread-of-constructor": "1",
        "main": "1",
        "thread": "1",
        "destructor": "1",
    }
    # What a main that ends with a call runs is no constructor.
    answers = dict(line.split() for line in run(program, "table", folder=builder.folder).splitlines())
    assert answers["table-program"] == "1"


def test_constructors_of_libraries(builder: Builder) -> None:
    library = builder.compile("libconstructor.so", "constructor_library.cpp", "-fPIC", "-shared", "./libprobe.so")
    loads = builder.program("tail_main")
    assert run(loads, library, folder=builder.folder).split() == ["library", "1", "loaded", "1", "program", "1"]
    linked = builder.compile("linked", "tail_main.cpp", "-Wl,--no-as-needed", str(library), "./libprobe.so")
    before = "0" if ON_X86_64 else "1"
    assert run(linked, folder=builder.folder).split() == ["library", before, "program", "1"]


def test_another_library_at_the_same_address(builder: Builder) -> None:
    libraries = [builder.compile_c("libfirst.so", "-O2"), builder.compile_c("libsecond.so", "-O1")]
    output = run(builder.program("unloading"), *libraries, folder=builder.folder)
    assert output.count("libfirst.so: libfirst.so") == output.count("libsecond.so: libsecond.so") == 3


def test_a_fork_while_another_thread_looks_up_sites(builder: Builder) -> None:
    assert run(builder.program("fork"), folder=builder.folder) == "0 failures\n"


@pytest.mark.deep
@pytest.mark.skipif(not ON_X86_64, reason="no unwinder of its own")
def test_damaged_tables_are_harmless(sanitized: Builder) -> None:
    output = run(sanitized.program("damaged_tables"), "100", folder=sanitized.folder)
    assert "rules known" in output


def test_python_stacks_that_are_known_again(builder: Builder) -> None:
    run(builder.program("python_memo"), folder=builder.folder)


def test_published_offsets_of_python(builder: Builder) -> None:
    run(builder.program("published_offsets"), folder=builder.folder)


@pytest.mark.parametrize("version", [f"3.{minor}" for minor in range(9, 15)])
def test_python_frames_are_those_of_the_interpreter(builder: Builder, version: str) -> None:
    output = run(interpreter(version), PROGRAMS / "python_frames.py", builder.folder / "libprobe.so")
    assert re.search(r"^\d{3,} checks, 0 failures$", output, re.MULTILINE)
