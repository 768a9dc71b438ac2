# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import kinds, operations, reading_of, run, run_main

from streamsan.cuda_source import Limits
from streamsan.cuda_source.agenda import MOST_ALIKE
from streamsan.cuda_source.objects import reach
from streamsan.vocabulary import SlotFlag


def test_undecided_branches_fork_and_mark_their_operations(tmp_path):
    text = "int main(int argc, char** argv) { if (argc > 1) cudaDeviceSynchronize(); else cudaDeviceReset(); }"
    worlds = reading_of(text, tmp_path).worlds
    assert [(world.decisions, kinds(operations(world))) for world in worlds] == [
        ((True,), ["CONTEXT_SYNCHRONIZE"]),
        ((False,), ["DEVICE_RESET"]),
    ]
    assert operations(worlds[0])[0].flags & SlotFlag.CONDITIONAL


def test_a_decision_is_remembered(tmp_path):
    text = """int main(int argc, char** argv) { bool use = argc > 3; float* p = nullptr;
  if (use) cudaMalloc(&p, 4);
  if (!use) cudaDeviceSynchronize();
  if (use == false) cudaDeviceSynchronize();
  if (argc > 2 && use) cudaFree(p);
  if (argc <= 3) cudaDeviceReset(); }
"""
    worlds = reading_of(text, tmp_path).worlds
    assert sorted({tuple(kinds(operations(world))) for world in worlds}) == [
        ("ALLOC", "FREE"),
        ("CONTEXT_SYNCHRONIZE", "CONTEXT_SYNCHRONIZE", "DEVICE_RESET"),
    ]


def test_branches_without_effect_do_not_fork(tmp_path):
    text = """int main(int argc, char** argv) { int n = 4; if (argc > 1) n = atoi(argv[1]); if (n < 1) n = 1;
  printf("%d", n); float* p; cudaMalloc(&p, n); cudaFree(p); }
"""
    assert len(reading_of(text, tmp_path).worlds) == 1


def test_a_budget_of_paths_is_said(tmp_path):
    branches = "".join(f"if (argc == {i}) cudaDeviceSynchronize(); " for i in range(2, 12))
    reading = reading_of(f"int main(int argc, char** argv) {{ {branches} }}", tmp_path, Limits(paths=4))
    assert len(reading.worlds) == 4
    assert reading.worlds[-1].truncated
    assert kinds(operations(reading.worlds[-1]))[-1] == "NOT_UNDERSTOOD"


def test_a_budget_of_steps_ends_the_path(tmp_path):
    reading = reading_of(f"int main() {{ {'cudaDeviceSynchronize(); ' * 400} }}", tmp_path, Limits(steps=500))
    assert reading.worlds[0].truncated


def test_a_loop_that_frees_is_not_cut_short_where_the_one_that_allocates_was_not(tmp_path):
    text = """
        int main() {
            void* each[8];
            for (int i = 0; i < 8; ++i) cudaMalloc(&each[i], 4);
            for (int i = 0; i < 20; ++i) { cudaMemset(each[1], 0, 4); cudaMemset(each[2], 0, 4); }
            for (int i = 0; i < 8; ++i) cudaFree(each[i]);
        }"""
    (world,) = reading_of(text, tmp_path, Limits(steps=700)).worlds
    assert not world.truncated
    assert kinds(operations(world)).count("ALLOC") == kinds(operations(world)).count("FREE") == 8


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(seconds=-1.0), "the file takes more than -1 s"),
        (Limits(memory=-1 << 50), "the file takes more than -1,073,741,824 MiB of memory"),
    ],
)
def test_time_and_memory_of_a_file_end_its_paths(tmp_path, limits, reason):
    work = "for (int i = 0; i < 60; ++i) for (int j = 0; j < 60; ++j) cudaDeviceSynchronize();"
    text = f"void first() {{ {work} }}\nvoid second(int n) {{ if (n) cudaDeviceReset(); cudaDeviceSynchronize(); }}"
    reading = reading_of(text, tmp_path, limits)
    assert reading.stopped
    assert reading.seen.changing  # and is not remembered
    first, second = reading.worlds
    assert first.truncated
    assert operations(first)[-1].label == reason
    assert kinds(operations(second))[-1] == "NOT_UNDERSTOOD"
    assert not reading_of(text, tmp_path).seen.changing


def test_known_loops_run_to_their_end(tmp_path):
    assert (
        kinds(run_main("  for (int i = 10; i > 0; i -= 3) cudaDeviceSynchronize();", tmp_path))
        == ["CONTEXT_SYNCHRONIZE"] * 4
    )


def test_long_loops_run_their_first_and_last_iterations(tmp_path):
    body = (
        "  float* p; cudaMalloc(&p, 4000);\n  for (int i = 0; i < 1000; ++i) cudaMemset(p + i, 0, 4);\n  cudaFree(p);"
    )
    ops = run_main(body, tmp_path)
    offsets = [(op.address - ops[0].address) // 4 for op in ops if op.kind == "MEMSET"]
    assert offsets == [0, 1, 2, 3, 4, 5, 998, 999]


def test_unknown_loops_run_a_few_iterations_that_agree(tmp_path):
    text = """void go(int n, cudaStream_t* s) { float* p[64];
  for (int i = 0; i < n; ++i) cudaMallocAsync(&p[i], 4, s[i % 2]);
  for (int i = 0; i < n; ++i) { if (i + 1 < n) fill<<<1, 1, 0, s[i % 2]>>>(p[i], 1); else cudaDeviceSynchronize(); }
  for (int i = 0; i < n; ++i) cudaFreeAsync(p[i], s[i % 2]); }
"""
    worlds = reading_of(text, tmp_path).worlds
    assert len(worlds) == 1
    ops = operations(worlds[0])
    allocated = [op.object for op in ops if op.kind == "ALLOC"]
    assert len(allocated) == 4
    assert [op.object for op in ops if op.kind == "FREE"] == allocated
    assert [op.kind for op in ops].count("LAUNCH") == 3
    assert len({op.stream for op in ops if op.kind == "ALLOC"}) == 2


def test_polling_ends_with_success(tmp_path):
    body = "  cudaStream_t s; cudaStreamCreate(&s);\n  while (cudaStreamQuery(s) == cudaErrorNotReady) { }\n  cudaStreamDestroy(s);"
    ops = run_main(body, tmp_path)
    queries = [op.status for op in ops if op.kind == "STREAM_QUERY"]
    assert queries[-1] == 0
    assert len(queries) == 2


def test_a_query_in_a_condition_forks(tmp_path):
    text = """int main() { cudaStream_t s; cudaStreamCreate(&s);
  if (cudaStreamQuery(s) == cudaSuccess) cudaDeviceReset(); else cudaStreamSynchronize(s); }
"""
    worlds = reading_of(text, tmp_path).worlds
    found = sorted(tuple(op.status for op in operations(world) if op.kind == "STREAM_QUERY") for world in worlds)
    assert len(worlds) == 2
    assert any(statuses[-1] == 0 for statuses in found)
    assert any(0 not in statuses for statuses in found)


def test_fork_gives_a_world_to_each_process(tmp_path):
    text = """int main() { float* p; cudaMalloc(&p, 4); int pid = fork();
  if (pid == 0) { cudaFree(p); exit(0); }
  cudaFree(p); }
"""
    worlds = reading_of(text, tmp_path).worlds
    assert len(worlds) == 2
    parent, child = (operations(world) for world in worlds)
    assert kinds(parent) == ["ALLOC", "FORK", "FREE"]
    assert [(op.kind, op.status) for op in child if op.thread != 0] == [("CALL", 3)]


def test_exit_in_a_helper_ends_the_program(tmp_path):
    text = "void die() { exit(1); }\nint main() { cudaDeviceSynchronize(); die(); cudaDeviceReset(); }"
    worlds = reading_of(text, tmp_path).worlds
    assert kinds(operations(worlds[0])) == ["CONTEXT_SYNCHRONIZE"]
    assert kinds(operations(worlds[0], quiet=False))[-2:] == ["MAIN_END", "PROCESS_EXIT"]


def test_an_iteration_that_drops_its_pointer_loses_it(tmp_path):
    ops = run_main("  for (int i = 0; i < 2; ++i) {\n    float* p;\n    cudaMalloc(&p, 4);\n  }", tmp_path)
    assert [(op.kind, op.detail) for op in ops if op.kind == "POINTER_LOST"] == [("POINTER_LOST", 1)] * 2


def test_an_overwritten_pointer_is_lost_and_a_kept_one_is_not(tmp_path):
    lost = run_main("  float* p;\n  for (int i = 0; i < 3; ++i) cudaMalloc(&p, 4);", tmp_path)
    kept = run_main(
        "  std::vector<float*> all;\n  for (int i = 0; i < 3; ++i) { float* p; cudaMalloc(&p, 4); all.push_back(p); }",
        tmp_path,
    )
    freed = run_main("  for (int i = 0; i < 3; ++i) { float* p; cudaMalloc(&p, 4); cudaFree(p); }", tmp_path)
    assert kinds(lost).count("POINTER_LOST") == 2
    assert "POINTER_LOST" not in kinds(kept)
    assert "POINTER_LOST" not in kinds(freed)


def test_pointers_that_leave_are_not_lost(tmp_path):
    text = """void keep(float* p);
float* make() { float* p; cudaMalloc(&p, 4); return p; }
void give() { float* p; cudaMalloc(&p, 4); keep(p); }
void drop() { float* p; cudaMalloc(&p, 4); }
"""
    worlds = {world.entry: kinds(operations(world)) for world in reading_of(text, tmp_path).worlds}
    assert "POINTER_LOST" not in worlds["make"]
    assert "POINTER_LOST" not in worlds["give"]
    assert "POINTER_LOST" in worlds["drop"]


def test_nothing_counts_as_lost_when_not_all_could_be_looked_at(tmp_path, monkeypatch):
    text = """float table[8]; float best(float* d) { return table[1]; }
int main() { float* p; cudaMalloc(&p, 4); for (int i = 0; i < 8; i++) table[i] = i;
  for (int r = 0; r < 3; r++) best(p);
  cudaMemset(p, 0, 4); cudaFree(p); }
"""
    monkeypatch.setattr(reach, "LARGEST_WALK", 3)
    assert "POINTER_LOST" not in kinds(run(text, tmp_path))
    lost = "int main() { for (int r = 0; r < 3; r++) { float* p; cudaMalloc(&p, 4); } }"
    monkeypatch.undo()
    assert "POINTER_LOST" in kinds(run(lost, tmp_path))


def test_a_class_that_seems_to_hold_itself_ends(tmp_path):
    text = "struct A { A left; A right; float* p; }; int main() { A a; float* q; cudaMalloc(&q, 4); cudaFree(q); }"
    assert kinds(run(text, tmp_path)) == ["ALLOC", "FREE"]


def test_a_dear_function_spends_its_own_steps_and_not_those_of_the_functions_behind_it(tmp_path):
    dear = "".join(f"void dear{number}() {{ {'cudaDeviceSynchronize(); ' * 400} }}\n" for number in range(3))
    plain = "".join(f"void plain{number}(float* p) {{ cudaFree(p); }}\n" for number in range(40))
    limits = Limits(steps=500, file_steps=1_000, most_steps=1_000)
    worlds = reading_of(dear + plain, tmp_path, limits).worlds
    assert [world.entry for world in worlds if world.truncated] == ["dear0", "dear1", "dear2"]
    assert [kinds(operations(world)) for world in worlds[3:]] == [["ALLOC", "FREE"]] * 40


def test_the_first_functions_leave_half_of_the_budget_to_those_behind_them(tmp_path):
    calls = "\n".join(f"if (given({number})) {{ first(); }} else {{ second(); }}" for number in range(12))
    dear = f"bool given(int); void first(); void second(); void dear() {{ cudaDeviceSynchronize();\n{calls} }}\n"
    loop = "for (int i = 0; i < 40; ++i) { total += weigh(i) * weigh(i + 1); }"
    behind = f"int weigh(int); void behind(float* p, int total) {{ {loop} use(total); cudaFree(p); }}\n"
    limits = Limits(file_steps=4_000, most_steps=4_000)
    (world,) = [each for each in reading_of(dear + behind, tmp_path, limits).worlds if each.entry == "behind"]
    assert not world.truncated
    assert limits.kept(behind=1, known=2) == 1_000
    assert limits.kept(behind=0, known=2) == 0


def test_what_a_function_may_cost_grows_with_its_text(tmp_path):
    lines = "cudaDeviceSynchronize();\n" * 200
    few = Limits(steps=100, file_steps=100, most_steps=100, operations=50)
    (world,) = reading_of(f"void work() {{\n{lines}}}\n", tmp_path, few).worlds
    assert not world.truncated
    assert len(operations(world)) == 200
    (world,) = reading_of(f"void part() {{\n{lines}}}\nint main() {{ part(); }}\n", tmp_path, few).worlds
    assert not world.truncated
    loop = "for (int i = 0; i < 60; ++i) for (int j = 0; j < 60; ++j) cudaDeviceSynchronize();"
    assert reading_of(f"void work() {{ {loop} }}\n", tmp_path, few).worlds[0].truncated


def test_all_of_many_functions_are_read(tmp_path):
    text = "".join(f"void f{number}(float* p) {{ cudaFree(p); }}\n" for number in range(50))
    reading = reading_of(text, tmp_path, Limits(steps=50, file_steps=60, most_steps=60))
    assert len(reading.worlds) == 50
    assert not reading.stopped


def test_what_goes_on_is_explored_before_what_leaves(tmp_path):
    """Each option of a command line may be wrong: the ways out are so many that the work would never be reached."""
    cases = "".join(
        f" case {number}: x = ask(); if (x == {number}) {{ usage(); return 1; }} break;" for number in range(12)
    )
    text = f"""int ask(); void usage();
int main() {{ int x = 0; int o;
while ((o = ask()) != -1) {{ switch (o) {{{cases} default: exit(1); }} }}
if (x == 77) {{ usage(); return 1; }}
float* p; cudaMalloc(&p, 4); fill<<<1, 1>>>(p, 1); cudaFree(p); }}
"""
    first = reading_of(text, tmp_path).worlds[0]
    assert "LAUNCH" in kinds(operations(first))


@pytest.mark.parametrize(
    ("branch", "first"),
    [
        ("return 1;", True),
        ("{ usage(); exit(2); }", True),
        ("throw 1;", True),
        ("{ cudaFree(p); abort(); }", True),
        ("{ fill<<<1, 1>>>(p, 2); return 0; }", False),
        ("usage();", False),
    ],
)
def test_a_branch_that_only_leaves_is_taken_last(branch, first, tmp_path):
    text = f"""int ask(); void usage();
int main() {{ float* p; cudaMalloc(&p, 4); if (ask()) {branch}
cudaDeviceSynchronize(); return 0; }}
"""
    worlds = reading_of(text, tmp_path).worlds
    assert len(worlds) == 2
    assert worlds[0].decisions == ((not first,))


def test_of_a_loop_s_exits_few_are_taken_once_many_steps_are_spent(tmp_path):
    text = """bool fails(int);
int main(int argc, char** argv) {
  float* d; cudaStream_t s, t;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
  cudaMalloc(&d, 1024);
  for (int i = 0; i < 12; ++i) { cudaMemsetAsync(d, 0, 1024, s); if (fails(i)) exit(1); }
  if (argc > 1) cudaStreamSynchronize(s);
  cudaMemsetAsync(d, 1, 1024, t);
}
"""
    all_of_them = reading_of(text, tmp_path).worlds
    few = reading_of(text, tmp_path, Limits(thrifty_steps=0)).worlds
    # The first exit is new, and those after it are not.
    assert len(few) == 2 + 1 + MOST_ALIKE < len(all_of_them)
    # Each branch is still seen both ways: the path without the wait is among them, and what was left out is said.
    whole = [kinds(operations(world)) for world in few if len(world.decisions) > 12]
    assert ["STREAM_SYNCHRONIZE" in each for each in whole] == [True, False]
    assert [world.truncated for world in few] == [False] * (len(few) - 1) + [True]
