"""What is known of a name stands in one row of one table, and what a row names exists."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from row_groups import check_each, grouped
from streamsan.cuda_source import library
from streamsan.cuda_source.library.tables import Row, contents, find_function, is_harmless, rows_of, tables
from streamsan.cuda_source.values.cells import LibraryObject

FOLDER = Path(library.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
MODEL = ["machine", "operands", "call"]
BELOW = {"library", "machine", "values"}
SECTIONS = ("functions", "quiet_functions", "classes", "quiet_classes", "objects")


def models():
    for module in MODULES:
        for name, item in vars(import_module(f"{library.__name__}.{module}")).items():
            if getattr(item, "__module__", "") == f"{library.__name__}.{module}":
                yield f"{module}.{name}", item


def rows() -> list[Row]:
    known = tables()
    named = [*known.functions.values(), *known.classes.values(), *known.objects.values()]
    return named + [row for family in known.families for _, row in family.calls]


def names() -> list[str]:
    found = []
    for content in contents().values():
        found += content.get("harmless", "").split() + content.get("mathematics", "").split()
        for section in SECTIONS:
            for given in content.get(section, {}).values():
                for each in given if isinstance(given, list) else [given]:
                    found += (each if isinstance(each, str) else each["names"]).split()
    return found


def test_no_name_stands_twice():
    assert [name for name, count in Counter(names()).items() if count > 1] == []


def test_a_name_without_a_scope_needs_no_other_row_for_std():
    known = tables()
    for section in (known.functions, known.classes):
        assert [name for name in section if name.startswith("std::") and name[5:] in section] == []


def test_no_harmless_name_has_a_model():
    assert [name for name in tables().harmless if find_function(name) is not None] == []


def test_the_beginnings_of_harmless_libraries_hide_no_model():
    known = tables()
    hidden = [name for name in [*known.functions, *known.classes] if name.startswith(known.harmless_beginnings)]
    assert [name for name in hidden if not is_harmless(name)] == []


@pytest.mark.parametrize("module", grouped(rows(), lambda row: row.model.partition(".")[0]))
def test_a_row_names_a_model_and_gives_it_what_it_takes(module):
    check_each(module, lambda row: row.model, names_a_model)


def names_a_model(row):
    model = row.load()
    if not isinstance(model, type):
        family = "name" in inspect.signature(model).parameters and "name" not in row.data
        inspect.signature(model).bind(None, [], None, **row.data, **({"name": "f"} if family else {}))


def test_every_model_has_a_row():
    used = [row.load() for row in rows()]
    bases = {base for model in used if isinstance(model, type) for base in model.__mro__}
    for name, item in models():
        if inspect.isfunction(item) and not item.__name__.startswith("_"):
            if list(inspect.signature(item).parameters)[:3] == MODEL:
                assert item in used, name
        elif inspect.isclass(item) and issubclass(item, LibraryObject) and "construct" in vars(item):
            assert item in bases, name


def test_a_model_knows_no_part_of_the_interpreter_but_by_its_face():
    above = "streamsan.cuda_source."
    for module in MODULES:
        for node in ast.walk(ast.parse((FOLDER / f"{module}.py").read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(above):
                part = node.module.removeprefix(above).split(".")[0]
                assert part in BELOW, f"{module}: {node.module}"


def test_a_row_may_say_more_than_names():
    found = rows_of("host_calls.access", [{"names": "a b", "reads": [0]}, {"names": "c", "writes": [1]}])
    assert {name: row.data for name, row in found.items()} == {
        "a": {"reads": [0]}, "b": {"reads": [0]}, "c": {"writes": [1]}
    }  # fmt: skip
