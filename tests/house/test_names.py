"""Names in the code: rules by name, modules told apart, no second list of what a module has."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from house.modules import ROOT, modules

CODES = {int(path.stem[2:]) for path in (ROOT / "docs" / "rules").glob("SS*.md")}

HOMONYMS = {
    "calls.py": 2,
    "checks.py": 2,
    "driver.py": 2,
    "language.py": 3,
    "layout.py": 4,
    "names.py": 2,
    "nodes.py": 2,
    "nvrtc.py": 3,
    "phrases.py": 2,
    "places.py": 3,
    "rule.py": 2,
}
"""file names that several rooms still have, and how many"""


def test_rules_have_names_where_rules_are_decided() -> None:
    python = [path for place in ("evidence", "analysis/worlds.py", "rules/precedence.py") for path in _python(place)]
    assert [str(path.relative_to(ROOT)) for path in python if _has_rule_number(path)] == []
    native = [path for path in (ROOT / "native" / "order").rglob("*.[ch]pp") if "generated" not in path.parts]
    assert [str(path.relative_to(ROOT)) for path in native if _has_native_rule_number(path.read_text())] == []


def _python(place: str) -> list[Path]:
    path = ROOT / "src" / "streamsan" / place
    return [path] if path.suffix else sorted(path.rglob("*.py"))


def _has_rule_number(path: Path) -> bool:
    for constant in _constants(ast.parse(path.read_text())):
        if (
            constant.value in CODES
            if isinstance(constant.value, int)
            else re.fullmatch(r"SS\d{3}", str(constant.value))
        ):
            return True
    return False


def _constants(tree: ast.AST) -> Iterator[ast.Constant]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Constant))


def _has_native_rule_number(text: str) -> bool:
    """Whether a number that is a rule's stands in the code; statuses of the driver have the same numbers."""
    lines = re.sub(r"//.*|/\*.*?\*/|\"[^\"\n]*\"", "", text).splitlines()
    numbers = (int(number) for line in lines if "status" not in line for number in re.findall(r"\b\d{3}\b", line))
    return not CODES.isdisjoint(numbers)


def test_no_lists_of_exports() -> None:
    assert [name for name, module in modules().items() if _has_export_list(module.tree)] == []


def _has_export_list(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "__all__" for node in ast.walk(tree))


def test_a_file_name_says_which_module_it_is() -> None:
    names = Counter(module.path.name for module in modules().values())
    del names["__init__.py"], names["__main__.py"]
    assert {name: count for name, count in names.items() if count > 1} == HOMONYMS
