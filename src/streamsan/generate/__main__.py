"""Write what is generated from the one vocabulary, from the platform's tables and from the rules.

`python -m streamsan.generate` rewrites what is committed in a checkout: the Python half, and the list of the rules'
pages; `--check` fails if one of them is out of date.
`--headers FOLDER` writes the C++ half, as the native build does: beside the standard library it needs msgspec only.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent.parent
VOCABULARY = PACKAGE / "vocabulary" / "vocabulary.toml"
PYTHON_TARGET = PACKAGE / "vocabulary" / "__init__.py"
RULES_TARGET = ROOT / "docs" / "rules" / "README.md"
NOTICE = "Generated from src/streamsan/vocabulary/vocabulary.toml by `python -m streamsan.generate`. Do not edit."


def load_vocabulary() -> dict[str, Any]:
    """Return the tables of vocabulary.toml."""
    return tomllib.loads(VOCABULARY.read_text(encoding="utf-8"))


def python_text(vocabulary: dict[str, Any]) -> str:
    """Return the Python face as text."""
    out = [f'"""{NOTICE}"""', "", "from enum import IntEnum"]
    for name, table in vocabulary.items():
        out += ["", "", f"class {name}(IntEnum):", f'    """{table["doc"]}"""', ""]
        for value, (number, doc) in table["values"].items():
            out += [f"    {value} = {number}", f'    """{doc}"""']
    return "\n".join(out) + "\n"


def header_text(vocabulary: dict[str, Any]) -> str:
    """Return vocabulary.hpp as text."""
    out = [f"// {NOTICE}", "#pragma once", "#include <cstdint>", "", "namespace streamsan {"]
    for name, table in vocabulary.items():
        values = table["values"]
        wide = "std::uint8_t" if all(n < 256 for n, _ in values.values()) else "std::uint16_t"
        out += ["", f"/// {table['doc']}", f"enum class {name} : {wide} {{"]
        out += [f"    {value} = {number},  // {doc}" for value, (number, doc) in values.items()]
        out += ["};"]
    return "\n".join([*out, "", "}  // namespace streamsan", ""])


def effects_text() -> str:
    """Return effects.hpp as text."""
    from streamsan.generate.effects_header import header_text as text

    return text()


def callbacks_text() -> str:
    """Return cuda_callbacks.hpp as text."""
    from streamsan.generate.callbacks_header import header_text as text
    from streamsan.platforms import CUDA

    return text(CUDA.callbacks)


def waits_text() -> str:
    """Return copy_waits.hpp as text."""
    from streamsan.generate.waits_header import waits_header_text
    from streamsan.platforms import CUDA

    return waits_header_text(CUDA)


def facts_text() -> str:
    """Return facts.hpp as text."""
    from streamsan.generate.facts_header import facts_header_text
    from streamsan.platforms import CUDA, OPENCL

    return facts_header_text(CUDA, OPENCL)


def opencl_text() -> str:
    """Return opencl_functions.hpp as text."""
    from streamsan.generate.opencl_header import header_text as text
    from streamsan.platforms import OPENCL

    return text(OPENCL.folder / "functions.json", OPENCL.effects)


def rules_text() -> str:
    """Return the list of the rules' pages as text."""
    from streamsan.generate.rules_page import rules_page_text

    return rules_page_text()


# The tables need vocabulary/__init__.py, which may be what is out of date: their modules are imported when asked for.
HEADERS: dict[str, Callable[[], str]] = {
    "vocabulary.hpp": lambda: header_text(load_vocabulary()),
    "effects.hpp": effects_text,
    "cuda_callbacks.hpp": callbacks_text,
    "copy_waits.hpp": waits_text,
    "facts.hpp": facts_text,
    "opencl_functions.hpp": opencl_text,
}

COMMITTED: dict[Path, Callable[[], str]] = {
    PYTHON_TARGET: lambda: python_text(load_vocabulary()),
    RULES_TARGET: rules_text,
}


def write_headers(folder: Path) -> None:
    """Write the C++ headers into a folder. A file that is as it should be keeps its time, so nothing is built again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in HEADERS.items():
        target, text = folder / name, make()
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Write or check the generated files; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m streamsan.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a file is out of date, write nothing")
    parser.add_argument("--headers", type=Path, metavar="FOLDER", help="write the C++ headers into FOLDER instead")
    options = parser.parse_args(arguments)
    if options.headers is not None:
        write_headers(options.headers)
        return 0
    if not (ROOT / "pyproject.toml").is_file():
        print(f"{ROOT} is no checkout of streamsan: there is nothing to generate", file=sys.stderr)
        return 2
    for target, make in COMMITTED.items():
        text = make()
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        if options.check:
            print(f"{target} is out of date: run python -m streamsan.generate", file=sys.stderr)
            return 1
        target.write_text(text, encoding="utf-8")
        print(f"wrote {target}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
