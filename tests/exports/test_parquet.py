"""The tables, asked by DuckDB: each query of docs/exports.md answers, and agrees with the report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streamsan.cli.verbs import streamsan

duckdb: Any = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "tests" / "traces" / "pools"
PAGE = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8").partition("## Parquet")[2]
QUERIES = re.findall(r"^```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tables") / "tables"
    inputs = [str(TRACES / f"ss105_bucket.{which}.sst") for which in ("wrong", "right")]
    done = CliRunner().invoke(streamsan, ["export", "--to", "parquet", "-o", str(place), *inputs])
    assert done.exit_code == 0, done.output
    return place


def asked(tables: Path, query: str) -> list[tuple[Any, ...]]:
    answer: list[tuple[Any, ...]] = duckdb.sql(query.replace("tables/", f"{tables}/")).fetchall()
    return answer


@pytest.mark.parametrize("query", QUERIES)
def test_the_queries_of_the_page_answer(tables: Path, query: str) -> None:
    assert asked(tables, query)


def test_the_page_lists_each_column_of_each_table(tables: Path) -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (`.*`) \|", PAGE, re.MULTILINE))
    for file in sorted(tables.iterdir()):
        columns = [row[0] for row in asked(tables, f"describe select * from 'tables/{file.name}'")]
        assert re.findall(r"`(\w+)`", listed[file.stem]) == columns, file.stem


def test_findings_are_those_of_the_report(tables: Path) -> None:
    found = asked(tables, "select code, trace from 'tables/findings.parquet' where severity = 'error'")
    assert [(code, Path(trace).name) for code, trace in found] == [("SS105", "ss105_bucket.wrong.sst")]


def test_operations_and_edges_fit(tables: Path) -> None:
    backwards = """select count(*) from 'tables/edges.parquet' e where e.before >= e.after
        or not exists (from 'tables/operations.parquet' o where o.trace = e.trace and o.sequence = e.before)"""
    assert asked(tables, backwards) == [(0,)]
    assert asked(tables, "select count(*) > 0 from 'tables/edges.parquet'") == [(True,)]


def test_what_was_allocated_lies_before_what_was_freed(tables: Path) -> None:
    assert asked(tables, "select count(*) from 'tables/memory.parquet' where freed <= allocated") == [(0,)]
