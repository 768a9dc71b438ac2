"""The package's modules as their text says, without importing them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
ARCHITECTURE = ROOT / "docs" / "architecture.md"


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def room(self) -> str:
        """The folder below the package's root; "" for the root's own files."""
        parts = self.path.relative_to(SOURCE).parts
        return parts[1] if len(parts) > 2 else ""

    def imports(self, known: frozenset[str]) -> frozenset[str]:
        """The modules of the package that it imports anywhere: in functions and for types only too."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                members = {f"{base}.{alias.name}" for alias in node.names}
                found |= members & known
                if members - known:
                    found.add(base)
        return frozenset(found & known - {self.name})

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.path.relative_to(SOURCE).with_suffix("").parts[: -node.level]
        return ".".join((*parts, *filter(None, [node.module])))


@cache
def modules() -> dict[str, Module]:
    """Return all modules of the package by their dotted names."""
    found = {}
    for path in sorted((SOURCE / "streamsan").rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found[name] = Module(name, path, ast.parse(path.read_text()))
    return found


@cache
def imports() -> dict[str, frozenset[str]]:
    """Return the modules that each module imports."""
    known = frozenset(modules())
    return {name: module.imports(known) for name, module in modules().items()}


def layers() -> list[frozenset[str]]:
    """Return the rooms of each layer, the lowest first, as the table of the architecture's document has them."""
    rows = re.findall(r"^\| (`streamsan/.*?) \|", ARCHITECTURE.read_text(), re.MULTILINE)
    return [frozenset(re.findall(r"`streamsan/(\w+)/`", row)) for row in rows]
