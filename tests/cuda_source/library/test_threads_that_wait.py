"""Threads that wait for others, and promises."""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

from reading import kinds, operations, reading_of, run_main

WORKER = """std::mutex m; std::condition_variable c; std::queue<std::function<void()>> tasks; bool stop = false; float* d;
void work() { std::unique_lock<std::mutex> l(m); c.wait(l, [] { return stop || !tasks.empty(); }); tasks.front()(); }"""


def test_a_thread_that_waits_for_later_work_is_said_and_orders_nothing_for_certain(tmp_path):
    body = """cudaMalloc(&d, 4); std::thread t(work);
  { std::lock_guard<std::mutex> l(m); tasks.push([] { cudaFree(d); }); } c.notify_one(); t.join();"""
    main, job = reading_of(f"{WORKER}\nint main() {{\n{body}\n}}\n", tmp_path).worlds
    assert job.entry == "main::lambda", "what no path came to is read on its own"
    ops = operations(main)
    assert any("waits here for another" in op.label for op in ops if op.kind == "NOT_UNDERSTOOD")
    assert kinds(ops).count("OPAQUE_CALL") == 2, "where it starts to wait, and where it is joined"
    assert "FREE" not in kinds(ops)


def test_a_thread_whose_condition_holds_goes_on(tmp_path):
    body = """cudaMalloc(&d, 4); tasks.push([] { cudaFree(d); }); std::thread t(work); t.join();"""
    ops = run_main(body, tmp_path, before=WORKER)
    assert "FREE" in kinds(ops)
    assert not {"OPAQUE_CALL", "NOT_UNDERSTOOD"} & set(kinds(ops))


def test_a_promise_gives_its_future_the_very_handle(tmp_path):
    body = """  float* d; cudaMalloc(&d, 4); std::promise<cudaStream_t> p; auto f = p.get_future();
  std::thread t([&] { cudaStream_t s; cudaStreamCreate(&s); p.set_value(s); });
  fill<<<1, 1, 0, f.get()>>>(d, 1); t.join(); cudaFree(d);"""
    ops = run_main(body, tmp_path)
    made = next(op.object for op in ops if op.kind == "STREAM_CREATE")
    assert [op.stream for op in ops if op.kind == "LAUNCH"] == [made]
    order = [kind for kind in kinds(ops) if kind in ("HOST_RELEASE", "HOST_ACQUIRE", "LAUNCH")]
    assert order.index("HOST_ACQUIRE") < order.index("LAUNCH")
