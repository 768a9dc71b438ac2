"""The symboliser against a compiler's debug information: lines, inlined functions, names."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from native_programs import SOURCE, Program, compiled, identity, line_of, ran

from host_compiler import COMPILER
from streamsan.trace.modules import Module
from streamsan.trace.symboliser.lines import LineTable
from streamsan.trace.symboliser.module_files import Symboliser
from streamsan.trace.symboliser.units import UnitScan
from streamsan.trace.symbols import Frame

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
OBJCOPY = shutil.which("objcopy")


def chains(program: Program, symboliser: Symboliser | None = None) -> dict[str, list[list[Frame]]]:
    """Return the frames of each call, by the name that it printed."""
    symboliser = symboliser or Symboliser()
    result: dict[str, list[list[Frame]]] = {}
    for name, offset in program.calls:
        result.setdefault(name, []).append(list(symboliser(program.module, offset)))
    return result


def lines(frames: list[Frame], program: Program) -> list[int]:
    assert all(frame.file == program.source for frame in frames)
    return [frame.line for frame in frames]


@pytest.mark.parametrize(
    "options",
    [
        ("-g", "-gdwarf-4"),
        ("-g", "-gdwarf-5"),
        ("-g", "-no-pie"),
        ("-g", "-gz"),
        ("-g", "-fdebug-prefix-map=x=y", "-gno-column-info"),
    ],
    ids=lambda options: " ".join(options),
)
def test_lines_and_inlined_functions(tmp_path: Path, options: tuple[str, ...]) -> None:
    program = compiled(tmp_path, ("-O2", *options))
    found = chains(program)
    first, second = found["release"]
    call = line_of('sink("release");')
    assert lines(first, program) == [call, line_of("buffer.release();"), line_of("helper(buffer);")]
    assert first[0].function == "pool::Buffer<float>::release()"
    assert [frame.function.split("(")[0] for frame in first[1:]] == ["helper", "main"]
    # The destructor runs where main ends.
    assert lines(second, program)[:2] == [call, line_of("        release();")]
    assert second[1].function == "pool::Buffer<float>::~Buffer()"
    assert second[-1].function == "main"
    (plain,), (inner,) = found["plain"], found["lambda"]
    assert lines(plain, program)[0] == line_of('sink("plain");')
    assert plain[0].function == "plain(int)"
    assert lines(inner, program)[0] == line_of('sink("lambda");')
    assert "lambda" in inner[0].function or "operator()" in inner[0].function


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_lines_and_functions_are_those_that_pyelftools_reads(tmp_path: Path, version: int, level: str) -> None:
    program = compiled(tmp_path, (level, "-g", f"-gdwarf-{version}", "-ffunction-sections", "-Wl,--gc-sections"))
    with open(program.module.path, "rb") as file:
        dwarf = ELFFile(file).get_dwarf_info()
        checked = 0
        for unit in dwarf.iter_CUs():
            line_program = dwarf.line_program_for_CU(unit)
            table = LineTable(line_program)
            states = [entry.state for entry in line_program.get_entries() if entry.state is not None]
            sequence: list[tuple[int, int, int, int]] = []
            for state, after in itertools.pairwise(states):
                if not state.end_sequence and after.address > state.address:
                    sequence.append((state.address, state.file, state.line, state.column))
                if after.end_sequence:
                    for address, *row in sequence if sequence and sequence[0][0] else []:
                        assert table.find(address) == tuple(row)
                        checked += 1
                    sequence = []
            for nested in (False, True):
                found = {function.offset: function for function in UnitScan(dwarf, unit).functions(nested=nested)}
                expected = [
                    die
                    for die in (unit.iter_DIEs() if nested else unit.get_top_DIE().iter_children())
                    if die.tag == "DW_TAG_subprogram" and {"DW_AT_low_pc", "DW_AT_ranges"} & set(die.attributes)
                ]
                assert {die.offset for die in expected} <= set(found)
                for die in expected:
                    if found[die.offset].end:
                        low, high = die.attributes["DW_AT_low_pc"].value, die.attributes["DW_AT_high_pc"].value
                        assert (found[die.offset].start, found[die.offset].end) == (low, low + high)
                        checked += 1
        assert checked > 20


def test_without_optimisation(tmp_path: Path) -> None:
    found = chains(program := compiled(tmp_path, ("-O0", "-g")))
    assert [lines(frames, program) for frames in found["release"]] == [[line_of('sink("release");')]] * 2
    assert found["release"][0][0].function == "pool::Buffer<float>::release()"


def test_units_without_an_index_of_addresses(tmp_path: Path) -> None:
    # -gno-... has no option for it with every compiler: the section is taken out.
    if OBJCOPY is None:
        pytest.skip("no objcopy")
    program = compiled(tmp_path, ("-O2", "-g"))
    stripped = tmp_path / "stripped"
    subprocess.run([OBJCOPY, "--remove-section=.debug_aranges", program.module.path, stripped], check=True)
    found = chains(replace(program, module=Module(str(stripped), program.module.build_id)))
    assert found == chains(program)
    assert lines(found["plain"][0], program)


def test_split_debug_information_still_has_lines(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("-O2", "-g", "-gsplit-dwarf"))
    ((plain,),) = chains(program)["plain"]
    assert (plain.file, plain.line) == (program.source, line_of('sink("plain");'))
    assert plain.function == "plain(int)"


def test_functions_without_debug_information(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("-O0",))
    found = chains(program)
    assert found["plain"] == [[Frame("", 0, 0, "plain(int)")]]
    assert found["release"][0] == [Frame("", 0, 0, "pool::Buffer<float>::release()")]


def test_a_stripped_program_says_nothing(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("-O0", "-s"))
    assert chains(program)["plain"] == [[]]


@pytest.mark.skipif(OBJCOPY is None, reason="no objcopy")
def test_debug_information_in_a_file_of_its_own(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("-O2", "-g"))
    expected = chains(program)
    identity_ = program.module.build_id
    debug = tmp_path / "debug" / ".build-id" / identity_[:2] / f"{identity_[2:]}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run([str(OBJCOPY), "--only-keep-debug", program.module.path, debug], check=True)
    subprocess.run([str(OBJCOPY), "--strip-all", program.module.path], check=True)
    assert identity(Path(program.module.path)) == identity_
    assert chains(program, Symboliser(debug_folders=())) != expected
    assert chains(program, Symboliser(debug_folders=(str(tmp_path / "debug"),))) == expected


def test_a_file_that_was_built_anew_is_not_believed(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("-O0", "-g"))
    other = Module(program.module.path, "00" * 20)
    assert list(Symboliser()(other, program.calls[0][1])) == []
    assert list(Symboliser()(Module(program.module.path, ""), program.calls[0][1])) == []


def test_without_build_id_only_an_older_file_is_believed(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("-O0", "-g", "-Wl,--build-id=none"))
    assert program.module.build_id == ""
    (offset,) = program.offsets("plain")
    os.utime(program.module.path, (1000, 1000))
    assert list(Symboliser(None)(program.module, offset)) == []
    assert list(Symboliser(999.0)(program.module, offset)) == []
    (frame,) = Symboliser(1001.0)(program.module, offset)
    assert frame.line == line_of('sink("plain");')


def test_a_shared_library(tmp_path: Path) -> None:
    assert COMPILER
    source = tmp_path / "library.cpp"
    source.write_text('void sink(const char*);\nextern "C" void entry() {\n    sink("library");\n}\n')
    main = tmp_path / "main.cpp"
    begin = "int main(int count, char**) {"
    main.write_text(SOURCE.replace(begin, f'extern "C" void entry();\n{begin}\n    entry();'))
    library = tmp_path / "libentry.so"
    flags = ["-std=c++17", "-g", "-fPIC", "-Wl,--build-id"]
    subprocess.run([COMPILER, *flags, "-shared", str(source), "-o", str(library)], check=True)
    path = tmp_path / "main"
    rpath = f"-Wl,-rpath,{tmp_path}"
    subprocess.run([COMPILER, *flags, "-rdynamic", str(main), str(library), rpath, "-o", str(path), "-ldl"], check=True)
    program = ran(path, str(main))
    name, offset = program.calls[0]
    assert name == "library"
    (frame,) = Symboliser()(Module(str(library), identity(library)), offset)
    assert (frame.file, frame.line, frame.function) == (str(source), 3, "entry")


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF" + bytes(60), b"#!/bin/sh\n", bytes(4096)])
def test_files_that_are_no_modules(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "module").write_bytes(content)
    symboliser = Symboliser(1e12)
    assert list(symboliser(Module(str(tmp_path / "module")), 16)) == []
    assert list(symboliser(Module(str(tmp_path / "none"), "ab"), 16)) == []
    assert list(symboliser(Module("linux-vdso.so.1", "ab"), 16)) == []
    assert list(symboliser(Module(str(tmp_path)), 16)) == []


def test_damaged_debug_information_leaves_the_names(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("-O0", "-g"))
    (offset,) = program.offsets("plain")
    content = bytearray(Path(program.module.path).read_bytes())
    with open(program.module.path, "rb") as file:
        elf = ELFFile(file)
        places = [
            (section["sh_offset"], section["sh_size"])
            for section in elf.iter_sections()
            if section.name in (".debug_line", ".debug_info", ".debug_aranges")
        ]
    assert len(places) == 3
    for start, size in places:
        content[start : start + size] = b"\xff" * size
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    (frame,) = Symboliser()(Module(str(damaged), program.module.build_id), offset)
    assert frame == Frame("", 0, 0, "plain(int)")
