# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import kinds, operations, reading_of, run, run_main

CHECK = """#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { exit(1); } } while (0)"""


def test_check_macro_keeps_the_place_of_its_argument_and_forks_nothing(tmp_path):
    ops = run_main("  float* d;\n  CHECK(cudaMalloc(&d, 64));\n  CHECK(cudaFree(d));", tmp_path, CHECK)
    assert [(op.kind, op.line, op.label) for op in ops] == [("ALLOC", 4, "d"), ("FREE", 5, "")]
    assert ops[0].text == "cudaMalloc(&d, 64)"
    assert ops[0].size == 64


def test_code_in_a_macro_body_stands_where_the_macro_is_used(tmp_path):
    before = "#define RELEASE(p) cudaFree(p); p = nullptr"
    ops = run_main("  float* d;\n  cudaMalloc(&d, 4);\n  RELEASE(d);\n  RELEASE(d);", tmp_path, before)
    assert [(op.kind, op.line) for op in ops] == [("ALLOC", 4), ("FREE", 5), ("CALL", 6)]


def test_macro_arguments_keep_the_callers_names(tmp_path):
    before = "#define TRY(call) { cudaError_t p = call; if (p) return 1; }"
    ops = run_main("  float* p;\n  TRY(cudaMalloc(&p, 8));\n  cudaFree(p);", tmp_path, before)
    assert ops[0].address == ops[1].address != 0


def test_sizes_follow_the_types(tmp_path):
    before = "struct P { char c; double d; int n[3]; }; typedef P Q;"
    ops = run_main("  void* d;\n  cudaMalloc(&d, 2 * sizeof(Q) + sizeof(float4));\n  cudaFree(d);", tmp_path, before)
    assert ops[0].size == 2 * 32 + 16


@pytest.mark.parametrize(
    ("members", "size"),
    [
        ("unsigned a : 3; unsigned b : 5;", 4),
        ("char c; unsigned a : 8; unsigned b : 20; short s;", 12),
        ("unsigned a : 20; unsigned b : 20; float f;", 12),
        ("unsigned short a : 4, b : 12; unsigned short c : width; double d;", 16),
        ("unsigned long long a : 40; unsigned b : 10; int i;", 16),
        ("int x; unsigned char a : 1; bool b;", 8),
        ("unsigned a : 3; char c;", 4),
    ],
)
def test_bit_fields_share_their_bytes(tmp_path, members, size):
    """The sizes are g++'s."""
    before = f"enum {{ width = 7 }}; struct S {{ {members} }};"
    ops = run_main("  void* d;\n  cudaMalloc(&d, sizeof(S));\n  cudaFree(d);", tmp_path, before)
    assert ops[0].size == size


def test_pointer_arithmetic_counts_elements(tmp_path):
    body = "  double* d;\n  cudaMalloc(&d, 800);\n  cudaMemset(d + 3, 0, 8);\n  cudaFree((char*)d + 1);"
    ops = run_main(body, tmp_path)
    base = ops[0].address
    assert [op.address - base for op in ops] == [0, 24, 1]


def test_arrays_of_streams_keep_their_elements_apart(tmp_path):
    body = """  cudaStream_t s[2][2];
  for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) cudaStreamCreate(&s[i][j]);
  cudaStreamSynchronize(s[1][0]);
  for (auto& row : s) for (cudaStream_t x : row) cudaStreamDestroy(x);"""
    ops = run_main(body, tmp_path)
    made = [op.object for op in ops[:4]]
    assert [op.label for op in ops[:4]] == ["s[0][0]", "s[0][1]", "s[1][0]", "s[1][1]"]
    assert ops[4].stream == made[2]
    assert [op.object for op in ops[5:]] == made


RAII = """struct Buf { float* p = nullptr; cudaStream_t s;
  Buf(int n, cudaStream_t st) : s(st) { cudaMallocAsync(&p, n, s); }
  ~Buf() { if (p) cudaFreeAsync(p, s); }
  Buf(Buf&& o) : p(o.p), s(o.s) { o.p = nullptr; }
  Buf& operator=(Buf&& o) { if (p) cudaFreeAsync(p, s); p = o.p; s = o.s; o.p = nullptr; return *this; }
  operator float*() const { return p; } };
Buf make(int n, cudaStream_t s) { Buf b(n, s); return b; }"""


def test_destructors_run_in_reverse_at_scope_end_and_name_their_caller(tmp_path):
    ops = run_main(
        "  cudaStream_t s = 0;\n  { Buf a(4, s);\n    Buf b(8, s);\n  }\n  cudaDeviceSynchronize();", tmp_path, RAII
    )
    assert kinds(ops) == ["ALLOC", "ALLOC", "FREE", "FREE", "CONTEXT_SYNCHRONIZE"]
    assert [ops[2].object, ops[3].object] == [ops[1].object, ops[0].object]
    assert ops[2].function == "Buf::~Buf"
    assert ops[2].caller.text == "}"
    assert ops[0].label == "a.p"


def test_a_move_leaves_nothing_to_free(tmp_path):
    body = "  Buf a = make(4, 0);\n  Buf b(std::move(a));\n  Buf c(8, 0);\n  c = std::move(b);\n  fill<<<1, 1>>>(c, 3);"
    ops = run_main(body, tmp_path, RAII)
    assert kinds(ops) == ["ALLOC", "ALLOC", "FREE", "LAUNCH", "FREE"]
    assert ops[2].object == ops[1].object
    assert ops[3].object == ops[4].object == ops[0].object


def test_a_copied_owner_frees_twice(tmp_path):
    before = "struct Bad { float* p; Bad() { cudaMalloc(&p, 4); } ~Bad() { cudaFree(p); } }; void use(Bad b) {}"
    ops = run_main("  Bad b;\n  use(b);", tmp_path, before)
    assert kinds(ops) == ["ALLOC", "FREE", "FREE"]
    assert ops[1].object == ops[2].object


def test_virtual_calls_follow_the_object(tmp_path):
    before = """struct Base { virtual void go() = 0; virtual ~Base() {} };
struct A : Base { void go() override { cudaDeviceSynchronize(); } };
struct B : Base { void go() override { fill<<<1, 1>>>(nullptr, 1); } };"""
    body = "  Base* b = new B(); b->go(); delete b;\n  std::unique_ptr<Base> a = std::make_unique<A>(); a->go();"
    assert kinds(run_main(body, tmp_path, before)) == ["LAUNCH", "CONTEXT_SYNCHRONIZE"]


def test_templates_bind_types_and_numbers(tmp_path):
    before = """template <class T, int N> struct Ring { T* slot[N]; Ring() { for (auto& s : slot) cudaMalloc(&s, sizeof(T)); }
  ~Ring() { for (T* s : slot) cudaFree(s); } };
template <typename T> T* alloc(int n) { T* p; cudaMalloc(&p, n * sizeof(T)); return p; }"""
    ops = run_main("  { Ring<double, 3> r; }\n  auto* p = alloc<int>(5);\n  cudaFree(p);", tmp_path, before)
    assert kinds(ops) == ["ALLOC"] * 3 + ["FREE"] * 3 + ["ALLOC", "FREE"]
    assert [op.size for op in ops if op.kind == "ALLOC"] == [8, 8, 8, 20]


def test_lambdas_capture_by_value_and_by_reference(tmp_path):
    body = """  float *p, *q; cudaMalloc(&p, 4); cudaMalloc(&q, 4); float* old = p;
  auto by_value = [p] { cudaFree(p); };
  auto by_reference = [&] { cudaFree(p); };
  p = q;
  by_value(); by_reference();"""
    ops = run_main(body, tmp_path)
    assert [op.object for op in ops if op.kind == "FREE"] == [op.object for op in ops if op.kind == "ALLOC"]


def test_out_parameters_references_and_defaults(tmp_path):
    before = """void get(float** out, int n = 12) { cudaMalloc((void**)out, n); }
void drop(float*& p) { cudaFree(p); p = nullptr; }"""
    ops = run_main("  float* p; get(&p);\n  drop(p); drop(p);", tmp_path, before)
    assert kinds(ops) == ["ALLOC", "FREE", "CALL"]  # the second free is of NULL
    assert ops[0].size == 12
    assert ops[0].label == "p"
    assert ops[0].caller.text == "get(&p)"


def test_goto_switch_and_enums(tmp_path):
    before = "enum class Mode { A, B = 4, C }; int f(Mode m) { switch (m) { case Mode::B: return 1; case Mode::C: cudaDeviceSynchronize(); default: break; } return 0; }"
    body = "  f(Mode::A); f(Mode::C);\n  float* p; cudaMalloc(&p, 4);\n  if ((int)Mode::C == 5) goto done;\n  cudaDeviceReset();\ndone:\n  cudaFree(p);"
    assert kinds(run_main(body, tmp_path, before)) == ["CONTEXT_SYNCHRONIZE", "ALLOC", "FREE"]


def test_exceptions_unwind(tmp_path):
    body = "  try { Buf b(4, 0); throw 1; cudaDeviceReset(); } catch (int) { cudaDeviceSynchronize(); }"
    assert kinds(run_main(body, tmp_path, RAII)) == ["ALLOC", "FREE", "CONTEXT_SYNCHRONIZE"]


def test_static_objects_live_outside_main(tmp_path):
    from streamsan.vocabulary import SlotFlag

    ops = run_main("  static Buf inner(8, 0);\n  cudaDeviceSynchronize();", tmp_path, RAII + "\nBuf outer(4, 0);")
    assert kinds(ops) == ["ALLOC", "ALLOC", "CONTEXT_SYNCHRONIZE", "FREE", "FREE"]
    assert [bool(op.flags & SlotFlag.OUTSIDE) for op in ops] == [True, False, False, True, True]
    assert [op.object for op in ops[3:]] == [ops[1].object, ops[0].object]


def test_variadic_macros_and_packs_expand(tmp_path):
    before = """#define LAUNCH(k, s, ...) k<<<1, 1, 0, s>>>(__VA_ARGS__)
template <typename... A> void go(cudaStream_t s, A... args) { add<<<1, 1, 0, s>>>(args...); }"""
    body = "  float *a, *b; cudaMalloc(&a, 4); cudaMalloc(&b, 4);\n  LAUNCH(add, 0, a, b);\n  go(0, a, b);\n  cudaFree(a); cudaFree(b);"
    ops = run_main(body, tmp_path, before)
    assert [(op.kind, op.label, op.flags & 3) for op in ops[2:4]] == [("LAUNCH", "add", 1), ("LAUNCH", "add", 1)]


def test_recursion_ends(tmp_path):
    ops = run_main("  f(3);", tmp_path, "void f(int n) { cudaDeviceSynchronize(); if (n > 0) f(n - 1); }")
    assert kinds(ops) == ["CONTEXT_SYNCHRONIZE"] * 4


def test_endless_recursion_is_said_and_stops(tmp_path):
    ops = run_main("  f();\n  cudaDeviceSynchronize();", tmp_path, "void f() { f(); cudaStreamSynchronize(0); }")
    assert kinds(ops) == ["NOT_UNDERSTOOD", *["STREAM_SYNCHRONIZE"] * 3, "CONTEXT_SYNCHRONIZE"]


@pytest.mark.parametrize(
    ("expression", "size"),
    [("7 / 2 * 3", 9), ("-7 / 2 + 10", 7), ("1 << 5 | 3", 35), ("(size_t)1 << 4", 16), ("sizeof(int) * 3 % 7", 5),
     ("N > 4 ? N : 4", 6), ("(int)3.7 + N", 9), ("'a' - 90", 7), ("!0 + ~0 + 5", 5)],
)  # fmt: skip
def test_arithmetic_is_cs(tmp_path, expression, size):
    ops = run_main(f"  void* p; cudaMalloc(&p, {expression}); cudaFree(p);", tmp_path, "constexpr int N = 6;")
    assert ops[0].size == size


def test_library_code_without_main_has_unknown_callers(tmp_path):
    text = """static float* cache = nullptr;
void helper(float* p, cudaStream_t s) { fill<<<1, 1, 0, s>>>(p, 1); }
void process(float* p, cudaStream_t s) { helper(p, s); helper(cache, s); cudaFreeAsync(p, s); }
int unrelated(int n) { return n + 1; }
"""
    reading = reading_of(text, tmp_path)
    assert [world.entry for world in reading.worlds] == ["process"]
    ops = operations(reading.worlds[0])
    assert kinds(ops) == ["STREAM_CREATE", "ALLOC", "LAUNCH", "ALLOC", "LAUNCH", "FREE"]
    assert ops[2].object == ops[5].object != ops[4].object
    assert ops[2].stream == ops[4].stream == ops[5].stream


def test_methods_of_classes_nobody_makes_are_entries(tmp_path):
    text = """class Pool { float* p_; cudaStream_t s_; void low() { fill<<<1, 1, 0, s_>>>(p_, 1); }
 public: void run() { low(); low(); } ~Pool() { cudaFreeAsync(p_, s_); } };
"""
    reading = reading_of(text, tmp_path)
    assert {world.entry: kinds(operations(world)) for world in reading.worlds} == {
        "Pool::run": ["STREAM_CREATE", "ALLOC", "LAUNCH", "LAUNCH"],
        "Pool::~Pool": ["STREAM_CREATE", "ALLOC", "FREE"],
    }


def test_fragments_run_as_they_stand(tmp_path):
    reading = reading_of("float* d;\ncudaMalloc(&d, 4);\n...\ncudaFree(d);\n", tmp_path)
    assert [kinds(operations(world)) for world in reading.worlds] == [["ALLOC", "FREE"]]


def test_unknown_code_takes_what_it_gets(tmp_path):
    text = """void elsewhere(float* p, cudaStream_t* s);
int main() { float* p; cudaStream_t s; cudaMalloc(&p, 4); elsewhere(p, &s);
  fill<<<1, 1, 0, s>>>(p, 1); }
"""
    ops = run(text, tmp_path)
    assert kinds(ops) == ["ALLOC", "OPAQUE_CALL", "NOT_UNDERSTOOD", "STREAM_CREATE", "LAUNCH"]
    assert ops[1].text == "elsewhere(p, &s)"
    assert "elsewhere" in ops[2].label


def test_unknown_code_that_gets_only_a_status_changes_nothing(tmp_path):
    text = "int main() { float* p; verify(cudaMalloc(&p, 4), __FILE__, __LINE__); verify(cudaFree(p), __FILE__, __LINE__); }"
    ops = run(text, tmp_path)
    assert kinds(ops) == ["ALLOC", "NOT_UNDERSTOOD", "FREE"]


def test_a_call_with_too_few_arguments_is_malformed_and_still_happens(tmp_path):
    ops = run_main("  float* p; cudaMalloc(&p, 4);\n  cudaFreeAsync(p);", tmp_path)
    assert kinds(ops) == ["ALLOC", "MALFORMED_CALL", "FREE"]
