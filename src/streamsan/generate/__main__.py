"""Write what is generated of the one vocabulary and of the platform's tables.

`python -m streamsan.generate` rewrites them in a checkout; `--check` fails if they are out of date.
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
HEADER_TARGET = ROOT / "native" / "generated" / "vocabulary.hpp"
EFFECTS_TARGET = ROOT / "native" / "generated" / "effects.hpp"
CALLBACKS_TARGET = ROOT / "native" / "generated" / "cuda_callbacks.hpp"
WAITS_TARGET = ROOT / "native" / "generated" / "copy_waits.hpp"
FACTS_TARGET = ROOT / "native" / "generated" / "facts.hpp"
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
    """Return effects.hpp as text. The tables need the vocabulary, so these come after vocabulary.py is written."""
    from streamsan.generate.effects_header import header_text as text
    from streamsan.platforms import CUDA

    return text(CUDA.effects)


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
    from streamsan.platforms import CUDA

    return facts_header_text(CUDA)


def main(arguments: list[str] | None = None) -> int:
    """Write or check the generated files; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m streamsan.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a file is out of date, write nothing")
    options = parser.parse_args(arguments)
    if not (ROOT / "pyproject.toml").is_file():
        print(f"{ROOT} is no checkout of streamsan: there is nothing to generate", file=sys.stderr)
        return 2
    vocabulary = load_vocabulary()
    stale = 0
    targets: tuple[tuple[Path, Callable[[], str]], ...] = (
        (PYTHON_TARGET, lambda: python_text(vocabulary)),
        (HEADER_TARGET, lambda: header_text(vocabulary)),
        (EFFECTS_TARGET, effects_text),
        (CALLBACKS_TARGET, callbacks_text),
        (WAITS_TARGET, waits_text),
        (FACTS_TARGET, facts_text),
    )
    for target, make in targets:
        text = make()
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if options.check:
            print(f"{target} is out of date: run python -m streamsan.generate", file=sys.stderr)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            print(f"wrote {target}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
