"""Extract CUPTI's callback ids and the layout of their parameter structures from the headers of a CUDA toolkit.

A development tool: it needs a C++ compiler and the headers, and writes `platforms/cuda/callbacks.json`, which is
committed. Give it the include folders of several toolkits, oldest first; ids are only ever added, so all are served:

    python -m streamsan.generate.extract_callbacks 12.9=DIR[:DIR...] 13.0=DIR[:DIR...]

Each argument is a CUDA version and its include folders (cuda.h, cuda_runtime_api.h, cupti_driver_cbid.h,
generated_cuda_meta.h, ...). Names, ids, offsets and sizes are facts about the interface.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from streamsan.platforms import CUDA

DOMAINS = {"driver": "CUPTI_DRIVER_TRACE_CBID_", "runtime": "CUPTI_RUNTIME_TRACE_CBID_"}
META = {
    "driver": ("cuda.h", ("generated_cuda_meta.h",)),
    "runtime": ("cuda_runtime_api.h", ("generated_cuda_runtime_api_meta.h", "generated_cudart_removed_meta.h")),
}
_STRUCTURE = re.compile(r"typedef struct (\w+)_params_st \{(.*?)\} \w+_params;", re.S)
_UNNAMED = re.compile(r"cuda\d+$|INVALID$|SIZE$|FORCE_INT$")
"""What an id is called that has no public function (any more)."""

Layout = list[tuple[str, int, int]]
"""Name, offset and size of each member."""


def find(folders: Iterable[Path], name: str) -> Path | None:
    """Return the first header of this name."""
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def read_ids(text: str, prefix: str) -> dict[int, str]:
    """Return the callback ids of an enumeration, less those that name no function."""
    pairs = re.findall(rf"\b{prefix}(\w+)\s*=\s*(\d+)", text)
    return {int(number): name for name, number in pairs if not _UNNAMED.match(name)}


def read_members(text: str) -> dict[str, list[str]]:
    """Return the members of every parameter structure, in order, by the function's name."""
    members: dict[str, list[str]] = {}
    for name, body in _STRUCTURE.findall(text):
        names = []
        for declaration in re.sub(r"/\*.*?\*/|//[^\n]*", "", body, flags=re.S).split(";"):
            words = re.findall(r"\w+", re.sub(r"\b__dv\b|\[[^]]*\]", "", declaration))
            if words:
                names.append(words[-1])
        members[name] = names
    return members


def measure(header: Path, folders: Iterable[Path], base: str, structures: Mapping[str, list[str]]) -> dict[str, Layout]:
    """Return the layout of each structure, as a compiler lays it out."""
    # The types of the first 32-bit entry points (CUdeviceptr_v1) are declared under this macro only.
    lines = [
        "#define __CUDA_API_VERSION_INTERNAL",
        "#include <cstddef>",
        "#include <cstdio>",
        f"#include <{base}>",
        "#undef __dv",
        "#define __dv",
        f'#include "{header}"',
    ]
    lines += ["int main() {"]
    for name, members in structures.items():
        for member in members:
            of = f"{name}_params"
            what = f"offsetof({of}, {member}), sizeof((({of}*)0)->{member})"
            lines.append(f'    std::printf("{name} {member} %zu %zu\\n", {what});')
    lines.append("}")
    layouts: dict[str, Layout] = {name: [] for name in structures}
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "layout.cpp")
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        program = Path(scratch, "layout")
        # Included by the structures of removed functions, and not shipped.
        Path(scratch, "cudart_removed.h").write_text("typedef int cudaOutputMode_t;\n", encoding="utf-8")
        includes = [f"-I{folder}" for folder in (*folders, scratch)]
        subprocess.run(["c++", "-std=c++17", "-w", *includes, str(source), "-o", str(program)], check=True)
        output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        name, member, offset, size = line.split()
        layouts[name].append((member, int(offset), int(size)))
    return layouts


def extract(toolkits: Mapping[str, list[Path]]) -> dict[str, object]:
    """Return the table of all toolkits together, the newest one's names for each id."""
    tables: dict[str, dict[int, tuple[str, Layout]]] = {domain: {} for domain in DOMAINS}
    for folders in toolkits.values():
        for domain, prefix in DOMAINS.items():
            base, metas = META[domain]
            ids = find(folders, f"cupti_{domain}_cbid.h")
            if ids is None:
                raise SystemExit(f"no cupti_{domain}_cbid.h in {':'.join(map(str, folders))}")
            layouts: dict[str, Layout] = {}
            for meta in metas:
                header = find(folders, meta)
                if header is not None:
                    text = header.read_text(encoding="utf-8")
                    layouts |= measure(header, folders, base, read_members(text))
            for number, name in read_ids(ids.read_text(encoding="utf-8"), prefix).items():
                known = tables[domain].get(number)
                layout = layouts.get(name) or (known[1] if known and known[0] == name else [])
                if not layout and known and known[1]:
                    continue
                tables[domain][number] = (name, layout)
    return {
        "cuda": list(toolkits),
        **{
            domain: {
                name: [number, " ".join(f"{member}:{offset}:{size}" for member, offset, size in layout)]
                for number, (name, layout) in sorted(table.items())
            }
            for domain, table in tables.items()
        },
    }


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("toolkit", nargs="+", help="CUDA version = include folders, ':' between them; oldest first")
    toolkits = {}
    for argument in parser.parse_args().toolkit:
        version, _, folders = argument.partition("=")
        toolkits[version] = [Path(folder) for folder in folders.split(":")]
    table = extract(toolkits)
    parts = [f'"cuda": {json.dumps(table["cuda"])}']
    for domain in DOMAINS:
        rows = table[domain]
        assert isinstance(rows, dict)
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        parts.append(f'"{domain}": {{\n{lines}\n }}')
    (CUDA.folder / "callbacks.json").write_text("{" + ",\n ".join(parts) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
