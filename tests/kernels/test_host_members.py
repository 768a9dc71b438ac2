"""Which members host functions compute that do nothing else."""

from __future__ import annotations

import pytest

from streamsan.cuda_syntax.tree import Function
from streamsan.cuda_syntax.unit import read_text
from streamsan.kernels.host_members import computed_members
from streamsan.vocabulary import AccessMode

HEAD = """\
#include <atomic>
#include <cstdio>
#define DONE(job) (job)->ready = 1
struct Total { long sum; int rows; };
struct Job { const int* values; int n; Total total; int least; int ready; std::atomic<int> done; std::mutex lock; };
int finished;
long sum_of(const int* values, int n) { long sum = 0; for (int i = 0; i < n; ++i) sum += values[i]; return sum; }
int next_number() { return ++finished; }
void tell(int& what) { what = 1; }
int unseen(int value);
"""
READ, WRITE, READ_WRITE = AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE


def members(body: str, before: str = "") -> dict[str, AccessMode]:
    unit = read_text(f"{HEAD}{before}\nvoid called(void* given) {{ Job* job = static_cast<Job*>(given); {body} }}\n")
    function = next(each for each in unit.declarations if isinstance(each, Function) and each.name == "called")
    return computed_members(function, unit)


def test_members_that_are_computed_of_others() -> None:
    found = members("Total t; t.sum = sum_of(job->values, job->n); t.rows = job->n; job->total = t;")
    assert found == {"values": READ, "n": READ, "total": WRITE}


def test_parts_of_a_member_and_what_is_added_up() -> None:
    found = members(
        "for (int i = 0; i < job->n; ++i) { job->total.sum += job->values[i]; job->least = job->values[i]; }"
        ' std::printf("%d", job->least);'
    )
    assert found == {"values": READ, "n": READ, "total": READ_WRITE, "least": READ_WRITE}


@pytest.mark.parametrize(
    "more",
    [
        "job->ready = 1;",  # a flag
        "job->ready++;",
        "finished = job->n;",  # seen by others
        "++finished;",
        "job->done.store(job->n);",
        "std::lock_guard<std::mutex> guard(job->lock);",
        "DONE(job);",
        "job->least = unseen(job->n);",
        "job->least = next_number();",
        "tell(job->ready);",
        "int* ready = &job->ready; *ready = job->n;",
        "int& ready = job->ready; ready = job->n;",
        "static int calls; calls = job->n;",
        "*job = Job();",
        "auto f = [&] { finished = 1; }; f();",
        "if (job->n < 0) throw job->n;",
    ],
)
def test_nothing_is_said_of_what_may_tell_others(more: str) -> None:
    assert not members(f"job->total.rows = job->n; {more}")


@pytest.mark.parametrize(
    "asks",
    [
        "void wait(Job& job) { while (job.total.rows == 0) {} }",
        "void wait(Job* job) { for (; !job->total.rows;) {} }",
        "bool is_done(Job* job) { return job->total; }",
        "void look(Job* job) { if (job->total) finished = 1; }",
    ],
)
def test_nothing_is_said_where_the_program_may_ask_until_it_changes(asks: str) -> None:
    assert not members("job->total.rows = job->n;", asks)


def test_a_result_may_be_compared() -> None:
    assert members("job->total.rows = job->n;", "void look(Job& job) { if (job.total.rows != 5) finished = 1; }")


def test_nothing_is_said_of_what_computes_nothing() -> None:
    assert not members('std::printf("%d", job->n);')
