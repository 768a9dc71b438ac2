"""Threads that wait for others, and promises."""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import kinds, operations, reading_of, run_main

WORKER = """std::mutex m; std::condition_variable c; std::queue<std::function<void()>> tasks; bool stop = false; float* d;
void work() { std::unique_lock<std::mutex> l(m); c.wait(l, [] { return stop || !tasks.empty(); }); tasks.front()(); }"""


def both_orders(body, tmp_path):
    """Return the operations where the thread runs at once, and where it runs when main waits for it."""
    worlds = reading_of(f"{WORKER}\nint main() {{\n{body}\n}}", tmp_path).worlds
    assert [world.decisions for world in worlds] == [(True,), (False,)]
    return [operations(world) for world in worlds]


def test_a_thread_that_waits_for_later_work_goes_on_when_it_is_notified(tmp_path):
    body = """cudaMalloc(&d, 4); std::thread t(work);
  { std::lock_guard<std::mutex> l(m); tasks.push([] { cudaFree(d); }); } c.notify_one(); t.join();"""
    for ops in both_orders(body, tmp_path):
        assert "FREE" in kinds(ops)
        assert not {"OPAQUE_CALL", "NOT_UNDERSTOOD"} & set(kinds(ops))


def test_a_thread_that_nothing_lets_go_on_is_said_and_orders_nothing_for_certain(tmp_path):
    body = "cudaMalloc(&d, 4); std::thread t(work); c.notify_one(); t.join();"
    for ops in both_orders(body, tmp_path):
        assert any("waits here for another" in op.label for op in ops if op.kind == "NOT_UNDERSTOOD")
        assert kinds(ops).count("OPAQUE_CALL") == 1, "where it is joined"


def test_a_thread_whose_condition_holds_goes_on(tmp_path):
    body = """cudaMalloc(&d, 4); tasks.push([] { cudaFree(d); }); std::thread t(work); t.join();"""
    for ops in both_orders(body, tmp_path):
        assert "FREE" in kinds(ops)
        assert not {"OPAQUE_CALL", "NOT_UNDERSTOOD"} & set(kinds(ops))


def test_what_a_thread_records_may_come_after_main_s_wait(tmp_path):
    body = """cudaEvent_t e; cudaStream_t s; cudaEventCreate(&e); cudaStreamCreate(&s);
  std::thread t([&] { cudaEventRecord(e, s); }); cudaStreamWaitEvent(s, e, 0); t.join(); cudaEventSynchronize(e);"""
    at_once, late = both_orders(body, tmp_path)
    assert kinds(at_once).index("EVENT_RECORD") < kinds(at_once).index("STREAM_WAIT_EVENT")
    assert kinds(late).index("EVENT_RECORD") > kinds(late).index("STREAM_WAIT_EVENT")
    assert kinds(late).index("EVENT_RECORD") < kinds(late).index("EVENT_SYNCHRONIZE")


def test_a_thread_that_is_let_go_runs_by_then(tmp_path):
    body = """cudaEvent_t e; cudaStream_t s; cudaEventCreate(&e); cudaStreamCreate(&s);
  std::thread t([&] { cudaEventRecord(e, s); }); t.detach(); cudaStreamWaitEvent(s, e, 0);"""
    for ops in both_orders(body, tmp_path):
        assert kinds(ops).index("EVENT_RECORD") < kinds(ops).index("STREAM_WAIT_EVENT")


def test_a_promise_gives_its_future_the_very_handle(tmp_path):
    body = """  float* d; cudaMalloc(&d, 4); std::promise<cudaStream_t> p; auto f = p.get_future();
  std::thread t([&] { cudaStream_t s; cudaStreamCreate(&s); p.set_value(s); });
  fill<<<1, 1, 0, f.get()>>>(d, 1); t.join(); cudaFree(d);"""
    ops = run_main(body, tmp_path)
    made = next(op.object for op in ops if op.kind == "STREAM_CREATE")
    assert [op.stream for op in ops if op.kind == "LAUNCH"] == [made]
    order = [kind for kind in kinds(ops) if kind in ("HOST_RELEASE", "HOST_ACQUIRE", "LAUNCH")]
    assert order.index("HOST_ACQUIRE") < order.index("LAUNCH")


WORK = "float* d; void work() { cudaMemset(d, 0, 4); }"


def order_of(program, tmp_path):
    """Return, for each path, which of the thread's fill and main's free comes first."""
    worlds = reading_of(program, tmp_path).worlds
    return [[op.kind for op in operations(world) if op.kind in ("MEMSET", "FREE")] for world in worlds]


def test_what_nobody_sees_may_wait_for_a_thread(tmp_path):
    body = "cudaMalloc(&d, 4); std::thread t(work); wait_for_all(); cudaFree(d); t.join();"
    assert order_of(f"{WORK}\nint main() {{ {body} }}", tmp_path) == [["MEMSET", "FREE"]] * 2


def test_main_waits_for_what_a_thread_releases(tmp_path):
    before = f"std::binary_semaphore ready{{0}};\n{WORK}"
    body = "cudaMalloc(&d, 4); std::thread t(work); ready.acquire(); cudaFree(d); t.join();"
    assert order_of(f"{before}\nint main() {{ {body} }}", tmp_path) == [["MEMSET", "FREE"]] * 2


@pytest.mark.parametrize(
    "wait", ["wait(lock)", "wait_for(lock, 5ms)", "wait_until(lock, std::chrono::steady_clock::now())"]
)
def test_main_waits_to_be_woken_by_a_thread_even_where_only_for_a_while(wait, tmp_path):
    before = f"std::mutex m; std::condition_variable woken;\n{WORK}"
    body = f"""cudaMalloc(&d, 4); std::thread t(work);
    {{ std::unique_lock<std::mutex> lock(m); woken.{wait}; }} cudaFree(d); t.join();"""
    assert order_of(f"{before}\nint main() {{ {body} }}", tmp_path) == [["MEMSET", "FREE"]] * 2


def test_a_thread_that_nobody_is_seen_to_wait_for_runs_at_once_only(tmp_path):
    body = "cudaMalloc(&d, 4); auto* t = new std::thread(work); cudaFree(d);"
    assert order_of(f"{WORK}\nint main() {{ {body} }}", tmp_path) == [["MEMSET", "FREE"]]


def test_threads_run_at_once_where_host_functions_may_tell_them(tmp_path):
    before = f"{WORK}\nvoid tell(void*) {{}}"
    body = "cudaMalloc(&d, 4); std::thread t(work); cudaLaunchHostFunc(0, tell, d); cudaFree(d); t.join();"
    assert order_of(f"{before}\nint main() {{ {body} }}", tmp_path) == [["MEMSET", "FREE"]]


def test_posix_threads_run_at_once(tmp_path):
    body = "pthread_t t; cudaMalloc(&d, 4); pthread_create(&t, NULL, run, NULL); pthread_join(t, NULL); cudaFree(d);"
    before = "float* d; void* run(void*) { cudaMemset(d, 0, 4); return NULL; }"
    assert order_of(f"{before}\nint main() {{ {body} }}", tmp_path) == [["MEMSET", "FREE"]]


def test_a_thread_runs_late_where_only_its_join_is_waited_for(tmp_path):
    body = "cudaMalloc(&d, 4); std::thread t(work); cudaFree(d); t.join();"
    assert order_of(f"{WORK}\nint main() {{ {body} }}", tmp_path) == [["MEMSET", "FREE"], ["FREE", "MEMSET"]]
