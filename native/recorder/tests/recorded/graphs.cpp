// Programs of captures and graphs, for the fake driver. In those whose names end in `_wrong` comments say which finding
// belongs to a line; those whose names end in `_right` do the same in order, and nothing is to be found. The others
// print what they saw.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "driver_calls.hpp"
#include "recorder/cuda/recorder.hpp"

namespace recorded {
namespace graph_programs {

Scenarios scenarios;

using namespace fake;

constexpr std::size_t bytes = 64 * kib;
const Kernel scale{"_Z5scalePfPKf", {8, 8}};  // scale(float*, float const*)
const Kernel fill{"_Z4fillPfi", {8, 4}};      // fill(float*, int)

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
            std::exit(3);                                                        \
        }                                                                        \
    } while (false)

/// What the recorder counts.
unsigned captures_under_way() { return streamsan::recorder::cuda::recorder()->captures.load(); }

Word captured(Word stream, Word address) {
    Word graph = 0, executable = 0;
    begin_capture(stream);
    launch(fill, stream, {address, 1});
    CHECK(end_capture(stream, graph) == 0);
    CHECK(instantiate(executable, graph) == 0);
    return executable;
}

// -- SS303
// --------------------------------------------------------------------------------------------------------------

SCENARIO(stale_pointer_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word executable = captured(s, p);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
}

SCENARIO(stale_pointer_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word executable = captured(s, p);
    graph_launch(executable, s);
    graph_launch(executable, s);
    stream_synchronize(s);
    exec_destroy(executable);
    release(p);
}

/// The child was copied into its parent before its node got the new buffer.
SCENARIO(refused_for_memory_that_is_gone_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    const Word child = graph_create();
    add_kernel(child, {add_fill(child, {}, p + 1024, 512)}, fill, {q, 1});
    const Word graph = graph_create();
    add_child(graph, {add_fill(graph, {}, q, 512)}, child);
    release(p);
    Word executable = 0;
    CHECK(instantiate(executable, graph) == 1);  // expect: SS303
    stream_synchronize(s);
    release(q);
}

/// The driver does not look at what kernels are given, and the program gives the node another buffer.
SCENARIO(stale_kernel_is_set_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    const Word graph = graph_create();
    const Word node = add_kernel(graph, {}, fill, {p, 1});
    release(p);
    Word executable = 0;
    CHECK(instantiate(executable, graph) == 0);
    CHECK(set_kernel(executable, node, fill, {q, 1}) == 0);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(q);
}

SCENARIO(recycled_pointer_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word executable = captured(s, p);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
    const Word q = allocate(bytes);
    CHECK(p == q);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
    release(q);
}

SCENARIO(set_to_new_pointer_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    const Word graph = graph_create();
    const Word node = add_kernel(graph, {}, fill, {p, 1});
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    set_kernel(executable, node, fill, {q, 1});
    release(p);
    graph_launch(executable, s);
    stream_synchronize(s);
    exec_destroy(executable);
    graph_destroy(graph);
    release(q);
}

SCENARIO(set_to_old_pointer_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    const Word graph = graph_create();
    const Word node = add_kernel(graph, {}, fill, {q, 1});
    Word executable = 0;
    instantiate(executable, graph);
    set_kernel(executable, node, fill, {p, 1});
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
    release(q);
}

SCENARIO(updated_as_a_whole_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    const Word executable = captured(s, p);
    graph_launch(executable, s);
    stream_synchronize(s);
    Word graph = 0;
    begin_capture(s);
    launch(fill, s, {q, 1});
    end_capture(s, graph);
    CHECK(update(executable, graph) == 0);
    release(p);
    graph_launch(executable, s);
    stream_synchronize(s);
    exec_destroy(executable);
    release(q);
}

SCENARIO(disabled_node_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    const Word graph = graph_create();
    const Word first = add_kernel(graph, {}, fill, {p, 1});
    add_fill(graph, {first}, q, bytes);
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    CHECK(enable(executable, first, 0) == 0);
    release(p);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(q);
}

SCENARIO(enabled_again_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word graph = graph_create();
    const Word node = add_kernel(graph, {}, fill, {p, 1});
    Word executable = 0;
    instantiate(executable, graph);
    enable(executable, node, 0);
    graph_launch(executable, s);
    enable(executable, node, 1);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
}

SCENARIO(child_set_to_new_pointer_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    const Word child = graph_create();
    add_kernel(child, {}, fill, {p, 1});
    add_fill(child, {}, p + 1024, 512);
    const Word graph = graph_create();
    const Word node = add_child(graph, {add_empty(graph, {})}, child);
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    const Word other = graph_create();
    add_kernel(other, {}, fill, {q, 1});
    add_fill(other, {}, q + 1024, 512);
    CHECK(set_child(executable, node, other) == 0);
    release(p);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(q);
}

/// The child graph has the address from before it came back.
SCENARIO(older_child_set_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    const Word child = graph_create();
    add_kernel(child, {}, fill, {q, 1});
    const Word graph = graph_create();
    const Word node = add_child(graph, {}, child);
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    const Word other = graph_create();
    add_kernel(other, {}, fill, {p, 1});
    release(p);
    const Word back = allocate(bytes);
    CHECK(p == back);
    CHECK(set_child(executable, node, other) == 0);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
    exec_destroy(executable);
    release(back);
    release(q);
}

SCENARIO(newer_child_set_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    const Word child = graph_create();
    add_kernel(child, {}, fill, {q, 1});
    const Word graph = graph_create();
    const Word node = add_child(graph, {}, child);
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
    const Word back = allocate(bytes);
    CHECK(p == back);
    const Word other = graph_create();
    add_kernel(other, {}, fill, {back, 1});
    CHECK(set_child(executable, node, other) == 0);
    graph_launch(executable, s);
    stream_synchronize(s);
    exec_destroy(executable);
    release(back);
    release(q);
}

/// A node that is enabled again has the address that it had.
SCENARIO(enabled_with_old_pointer_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word graph = graph_create();
    const Word node = add_kernel(graph, {}, fill, {p, 1});
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    enable(executable, node, 0);
    release(p);
    const Word q = allocate(bytes);
    CHECK(p == q);
    graph_launch(executable, s);
    enable(executable, node, 1);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
    exec_destroy(executable);
    release(q);
}

SCENARIO(enabled_with_new_pointer_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word graph = graph_create();
    const Word node = add_kernel(graph, {}, fill, {p, 1});
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    enable(executable, node, 0);
    release(p);
    const Word q = allocate(bytes);
    CHECK(p == q);
    set_kernel(executable, node, fill, {q, 1});
    enable(executable, node, 1);
    graph_launch(executable, s);
    stream_synchronize(s);
    exec_destroy(executable);
    release(q);
}

/// The address comes back for something else, one node gets other memory, the other one has the address from before.
SCENARIO(one_node_left_behind_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word graph = graph_create();
    const Word first = add_kernel(graph, {}, fill, {p, 1});
    add_kernel(graph, {first}, fill, {p, 2});
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
    const Word q = allocate(bytes);
    CHECK(p == q);
    const Word r = allocate(bytes);
    set_kernel(executable, first, fill, {r, 1});
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
    exec_destroy(executable);
    release(q);
    release(r);
}

/// The address comes back, one node gets it, the other one has it from before: it may well be meant to.
SCENARIO(one_node_has_the_address_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word graph = graph_create();
    const Word first = add_kernel(graph, {}, fill, {p, 1});
    add_kernel(graph, {first}, fill, {p, 2});
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
    const Word q = allocate(bytes);
    CHECK(p == q);
    set_kernel(executable, first, fill, {q, 1});
    graph_launch(executable, s);
    stream_synchronize(s);
    exec_destroy(executable);
    release(q);
}

SCENARIO(no_node_left_behind_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word graph = graph_create();
    const Word first = add_kernel(graph, {}, fill, {p, 1});
    const Word second = add_kernel(graph, {first}, fill, {p, 2});
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
    const Word q = allocate(bytes);
    CHECK(p == q);
    set_kernel(executable, first, fill, {q, 1});
    set_kernel(executable, second, fill, {q, 2});
    graph_launch(executable, s);
    stream_synchronize(s);
    exec_destroy(executable);
    release(q);
}

SCENARIO(captured_before_the_address_came_back_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    Word graph = 0, executable = 0;
    begin_capture(s);
    launch(fill, s, {p, 1});
    end_capture(s, graph);
    release(p);
    const Word q = allocate(bytes);
    CHECK(p == q);
    instantiate(executable, graph);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
    exec_destroy(executable);
    release(q);
}

/// The graph of the first capture takes back the address that the second one has replaced.
SCENARIO(updated_with_the_old_capture_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    Word old_graph = 0, new_graph = 0, executable = 0;
    begin_capture(s);
    launch(fill, s, {p, 1});
    end_capture(s, old_graph);
    release(p);
    const Word q = allocate(bytes);
    CHECK(p == q);
    begin_capture(s);
    launch(fill, s, {q, 1});
    end_capture(s, new_graph);
    instantiate(executable, new_graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    CHECK(update(executable, old_graph) == 0);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
    exec_destroy(executable);
    release(q);
}

/// A clone has the addresses of the graph that it is a copy of.
SCENARIO(cloned_before_the_address_came_back_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word graph = graph_create();
    add_kernel(graph, {}, fill, {p, 1});
    release(p);
    const Word q = allocate(bytes);
    CHECK(p == q);
    Word clone = 0, executable = 0;
    graph_clone(clone, graph);
    instantiate(executable, clone);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
    exec_destroy(executable);
    release(q);
}

SCENARIO(parameters_set_anew_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    Word graph = 0, executable = 0;
    begin_capture(s);
    launch(fill, s, {p, 1});
    end_capture(s, graph);
    release(p);
    const Word q = allocate(bytes);
    CHECK(p == q);
    begin_capture(s);
    launch(fill, s, {q, 1});
    end_capture(s, graph);
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    exec_destroy(executable);
    release(q);
}

// -- bodies of conditional nodes
// ---------------------------------------------------------------------------------------------------

/// A graph that fills `p` in the body of a WHILE node; outside a kernel gets `outside`.
Word looping(Word s, Word p, unsigned value, unsigned flags, bool outside) {
    const Word graph = graph_create();
    const Word condition = condition_create(graph, value, flags);
    const Word other = allocate(bytes);
    const Word first = add_kernel(graph, {}, scale, {other, outside ? condition : 1});
    std::vector<Word> bodies(1);
    add_conditional(graph, {first}, bodies, condition, 1);
    add_kernel(bodies[0], {}, fill, {p, condition});
    Word executable = 0;
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    return executable;
}

SCENARIO(body_that_runs_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word executable = looping(s, p, 1, 1, false);
    release(p);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
}

void relaunched_without_memory(unsigned value, unsigned flags, bool outside) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word executable = looping(s, p, value, flags, outside);
    release(p);
    graph_launch(executable, s);
    stream_synchronize(s);
}

SCENARIO(body_without_a_default) { relaunched_without_memory(1, 0, false); }
SCENARIO(body_whose_default_is_0) { relaunched_without_memory(0, 1, false); }
SCENARIO(body_that_a_kernel_may_stop) { relaunched_without_memory(1, 1, true); }

// -- memory of graphs
// ---------------------------------------------------------------------------------------------------

SCENARIO(relaunch_unfreed_wrong) {
    const Word s = stream_create();
    Word graph = 0, executable = 0, p = 0;
    begin_capture(s);
    allocate_async(p, bytes, s);
    launch(fill, s, {p, 1});
    end_capture(s, graph);
    instantiate(executable, graph);
    graph_launch(executable, s);
    CHECK(graph_launch(executable, s) == 1);  // expect: SS301
    stream_synchronize(s);
}

SCENARIO(relaunch_with_free_right) {
    const Word s = stream_create();
    Word graph = 0, executable = 0, p = 0;
    begin_capture(s);
    allocate_async(p, bytes, s);
    launch(fill, s, {p, 1});
    release_async(p, s);
    end_capture(s, graph);
    instantiate(executable, graph);
    graph_launch(executable, s);
    graph_launch(executable, s);
    stream_synchronize(s);
    exec_destroy(executable);
    graph_destroy(graph);
}

SCENARIO(relaunch_with_flag_right) {
    const Word s = stream_create();
    Word graph = 0, executable = 0, p = 0;
    begin_capture(s);
    allocate_async(p, bytes, s);
    launch(fill, s, {p, 1});
    end_capture(s, graph);
    instantiate(executable, graph, 1);
    graph_launch(executable, s);
    graph_launch(executable, s);
    stream_synchronize(s);
}

SCENARIO(used_outside_without_order_wrong) {
    const Word s = stream_create(), t = stream_create();
    Word graph = 0, executable = 0, p = 0;
    begin_capture(s);
    allocate_async(p, bytes, s);
    launch(fill, s, {p, 1});
    end_capture(s, graph);
    instantiate(executable, graph);
    graph_launch(executable, s);
    launch(fill, t, {p, 2});  // expect: SS304
    stream_synchronize(t);
    stream_synchronize(s);
    release_async(p, s);
    stream_synchronize(s);
}

SCENARIO(used_outside_in_order_right) {
    const Word s = stream_create(), t = stream_create(), e = event_create();
    Word graph = 0, executable = 0, p = 0;
    begin_capture(s);
    allocate_async(p, bytes, s);
    launch(fill, s, {p, 1});
    end_capture(s, graph);
    instantiate(executable, graph);
    graph_launch(executable, s);
    event_record(e, s);
    stream_wait(t, e);
    launch(fill, t, {p, 2});
    stream_synchronize(t);
    release_async(p, s);
    stream_synchronize(s);
}

SCENARIO(free_node_beside_use_wrong) {
    Word p = 0, executable = 0;
    const Word graph = graph_create();
    const Word made = add_alloc(graph, {}, bytes, p);
    add_kernel(graph, {made}, fill, {p, 1});  // expect: SS304
    add_free(graph, {made}, p);
    instantiate(executable, graph);
}

SCENARIO(free_node_after_use_right) {
    Word p = 0, executable = 0;
    const Word s = stream_create();
    const Word graph = graph_create();
    const Word made = add_alloc(graph, {}, bytes, p);
    add_free(graph, {add_kernel(graph, {made}, fill, {p, 1})}, p);
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
}

SCENARIO(restrictions_wrong) {
    const Word s = stream_create();
    const Word outside = allocate(bytes);
    Word graph = 0, executable = 0, again = 0, clone = 0, p = 0;
    begin_capture(s);
    allocate_async(p, bytes, s);
    CHECK(release_async(outside, s) == 1);  // expect: SS306
    release_async(p, s);
    CHECK(end_capture(s, graph) == 0);
    instantiate(executable, graph);
    CHECK(instantiate(again, graph) == 801);  // expect: SS306
    CHECK(graph_clone(clone, graph) == 801);  // expect: SS306
    graph_launch(executable, s);
    stream_synchronize(s);
    release(outside);
}

/// What is refused for another reason is no breach of what memory nodes demand.
SCENARIO(refused_for_conditional_nodes) {
    const Word graph = graph_create();
    std::vector<Word> bodies(1);
    add_conditional(graph, {}, bodies);
    Word executable = 0, clone = 0;
    CHECK(instantiate(executable, graph) == 0);
    CHECK(instantiate(executable, graph) == 801);
    CHECK(graph_clone(clone, graph) == 801);
}

// -- captures
// -----------------------------------------------------------------------------------------------------------

SCENARIO(wait_in_capture_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    Word graph = 0;
    begin_capture(s);
    launch(fill, s, {p, 1});
    CHECK(stream_synchronize(s) == 900);  // expect: SS302
    CHECK(launch(fill, s, {p, 1}) == 901);
    CHECK(end_capture(s, graph) == 901);
    CHECK(captures_under_way() == 0);
    launch(fill, s, {p, 1});
    stream_synchronize(s);
    release(p);
}

SCENARIO(not_joined_wrong) {
    const Word s = stream_create(), t = stream_create(), e = event_create();
    const Word p = allocate(bytes);
    Word graph = 0;
    begin_capture(s);
    event_record(e, s);
    stream_wait(t, e);
    launch(fill, t, {p, 1});
    CHECK(end_capture(s, graph) == 904);  // expect: SS302
    CHECK(captures_under_way() == 0);
    release(p);
}

SCENARIO(joined_right) {
    const Word s = stream_create(), t = stream_create(), e = event_create(), f = event_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    Word graph = 0, executable = 0;
    begin_capture(s);
    launch(fill, s, {p, 1});
    event_record(e, s);
    stream_wait(t, e);
    launch(scale, t, {q, p});
    event_record(f, t);
    stream_wait(s, f);
    launch(scale, s, {p, q});
    CHECK(end_capture(s, graph) == 0);
    CHECK(captures_under_way() == 0);
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
    release(q);
}

/// While one stream captures, others work and wait as ever.
SCENARIO(order_beside_a_capture_right) {
    const Word s = stream_create(), t = stream_create(), u = stream_create(), e = event_create();
    const Word p = allocate(bytes);
    Word graph = 0;
    begin_capture(u);
    launch(fill, s, {p, 1});
    event_record(e, s);
    stream_wait(t, e);
    launch(fill, t, {p, 2});
    CHECK(end_capture(u, graph) == 0);
    stream_synchronize(t);
    release(p);
}

/// However a capture ends, nothing is asked afterwards.
SCENARIO(ends_of_captures) {
    const Word s = stream_create(), t = stream_create(), e = event_create();
    Word graph = 0;
    CHECK(begin_capture(1) == 900);
    CHECK(captures_under_way() == 0);
    begin_capture(s);
    CHECK(begin_capture(s) == 401);
    CHECK(captures_under_way() == 1);
    event_record(e, s);
    stream_wait(t, e);
    CHECK(end_capture(t, graph) == 903);
    CHECK(captures_under_way() == 1);
    CHECK(end_capture(s, graph) == 901);
    CHECK(captures_under_way() == 0);
    CHECK(end_capture(s, graph) == 401);
    CHECK(captures_under_way() == 0);
    begin_capture(s);
    stream_destroy(s);
    CHECK(captures_under_way() == 0);
    begin_capture(t);
    CHECK(captures_under_way() == 1);
    destroy_context();
    CHECK(captures_under_way() == 0);
}

SCENARIO(capture_into_a_graph) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    Word graph = graph_create(), executable = 0;
    const Word body = graph;
    begin_capture_to(s, graph);
    launch(fill, s, {p, 1});
    CHECK(end_capture(s, graph) == 0);
    CHECK(graph == body);
    instantiate(executable, graph);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
}

// -- bodies
// -------------------------------------------------------------------------------------------------------------

/// Every type of node. The test knows what is to come of it.
SCENARIO(all_nodes) {
    const Word p = allocate(4 * bytes), q = allocate(4 * bytes), e = event_create();
    std::printf("%#llx %#llx %#llx\n", static_cast<unsigned long long>(p), static_cast<unsigned long long>(q),
                static_cast<unsigned long long>(e));
    const Word child = graph_create();
    const Word inner = add_kernel(child, {}, scale, {p, q});
    add_fill(child, {inner}, p, 100, 3, 128);
    add_fill(child, {inner}, q, 100);
    const Word graph = graph_create();
    const Word kernel = add_kernel(graph, {}, scale, {p + 64, q});
    const Word copy = add_copy(graph, {kernel}, q, p, 4096);
    const Word parent = add_child(graph, {copy}, child);
    std::vector<Word> bodies(2);
    const Word branch = add_conditional(graph, {parent}, bodies);
    add_kernel(bodies[0], {}, fill, {p, 1});
    const Word waits = add_event(graph, {branch}, false, e);
    const Word host = add_host(graph, {waits}, reinterpret_cast<void*>(q));
    const Word signal = add_semaphore(graph, {host});
    const Word values = add_operations(graph, {signal}, p, q);
    const Word records = add_event(graph, {values}, true, e);
    Word r = 0, executable = 0;
    const Word made = add_alloc(graph, {records}, bytes, r);
    add_free(graph, {made, kernel}, r);
    instantiate(executable, graph, 15);
}

SCENARIO(clone_keeps_places) {
    const Word p = allocate(bytes);
    const Word graph = graph_create();
    add_kernel(graph, {}, fill, {p, 1});
    Word clone = 0, executable = 0;
    graph_clone(clone, graph);
    graph_destroy(graph);
    instantiate(executable, clone);
    release(p);
}

/// Handles of graphs and nodes come back: nothing is stale, and places are those of the new nodes.
SCENARIO(handles_come_back_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    for (int round = 0; round < 3; ++round) {
        Word graph = 0, executable = 0;
        begin_capture(s);
        launch(fill, s, {p, 1});
        end_capture(s, graph);
        instantiate(executable, graph);
        graph_destroy(graph);
        graph_launch(executable, s);
        stream_synchronize(s);
        exec_destroy(executable);
    }
    release(p);
}

/// A body of a conditional node is a graph of the driver's, whose handle may be that of one that was destroyed.
SCENARIO(body_with_a_handle_come_back_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    // The handles come back for the graph, its condition, and the body.
    const Word old[] = {graph_create(), graph_create(), graph_create(), graph_create()};
    for (const Word each : old) graph_destroy(each);
    const Word graph = graph_create();
    const Word condition = condition_create(graph, 1, 1);
    std::vector<Word> bodies(1);
    add_conditional(graph, {}, bodies, condition, 0);
    CHECK(std::find(std::begin(old), std::end(old), bodies[0]) != std::end(old));
    add_kernel(bodies[0], {}, fill, {p, 2});
    Word executable = 0;
    CHECK(instantiate(executable, graph) == 0);
    graph_launch(executable, s);
    stream_synchronize(s);
    exec_destroy(executable);
    graph_destroy(graph);
    release(p);
}

SCENARIO(unreadable) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    Word graph = 0, executable = 0, r = 0;
    begin_capture(s);
    allocate_async(r, bytes, s);
    launch(fill, s, {p, 1});
    CHECK(end_capture(s, graph) == 0);
    model().answers_about_graphs = false;
    CHECK(instantiate(executable, graph) == 0);
    model().answers_about_graphs = true;
    CHECK(graph_launch(executable, s) == 0);
    launch(fill, s, {r, 1});
    stream_synchronize(s);
    release_async(r, s);
    stream_synchronize(s);
    release(p);
}

SCENARIO(many_nodes) {
    constexpr int count = 100'000;
    const Word p = allocate(bytes);
    const Word graph = graph_create();
    std::vector<Word> before;
    for (int i = 0; i < count; ++i) {
        before = {add_kernel(graph, before, fill, {p, 1})};
    }
    Word executable = 0;
    CHECK(instantiate(executable, graph) == 0);
    const Word s = stream_create();
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
}

/// A driver that lacks the later versions of its functions.
SCENARIO(older_driver_right) {
    stale_pointer_right();
    joined_right();
}

SCENARIO(older_driver_wrong) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    const Word executable = captured(s, p);
    graph_launch(executable, s);
    stream_synchronize(s);
    release(p);
    graph_launch(executable, s);  // expect: SS303
    stream_synchronize(s);
}

/// A new file is begun again and again: what is launched is known in the last one too.
SCENARIO(rotation) {
    const Word s = stream_create();
    const Word p = allocate(bytes), q = allocate(bytes);
    const Word executable = captured(s, p);
    const Word changed = captured(s, q);
    CHECK(set_kernel(changed, model().graphs[model().executables[changed].graph].nodes[0], fill, {p, 1}) == 0);
    for (int i = 0; i < 60'000; ++i) graph_launch(executable, s);
    graph_launch(changed, s);
    stream_synchronize(s);
    release(p);
    graph_launch(changed, s);  // expect: SS303
    stream_synchronize(s);
}

// -- functions of the host
// ----------------------------------------------------------------------------------------------

std::atomic<bool> told{false};

/// The main thread waits for what a host function says, and knows by it that the kernel is over.
SCENARIO(told_by_host_function_right) {
    const Word s = stream_create();
    const Word p = allocate(bytes);
    told = false;
    launch(fill, s, {p, 1});
    CHECK(host_function(s, [](void*) { told = true; }) == 0);
    while (!told) std::this_thread::yield();
    const Word t = stream_create();
    launch(fill, t, {p, 2});
    stream_synchronize(t);
    release(p);
    CHECK(model().host_functions == 2);  // the recorder's, then the program's
}

SCENARIO(host_function_in_a_capture) {
    const Word s = stream_create();
    Word graph = 0, executable = 0;
    begin_capture(s);
    CHECK(host_function(s, [](void*) {}) == 0);
    end_capture(s, graph);
    CHECK(model().graphs[graph].nodes.size() == 1);
    instantiate(executable, graph);
    begin_capture(s);
    const Word t = stream_create();
    CHECK(host_function(t, [](void*) {}) == 0);
    end_capture(s, graph);
    CHECK(model().graphs[graph].nodes.empty());
    CHECK(model().host_functions == 1);  // the program's on t
}

// -- threads
// ------------------------------------------------------------------------------------------------------------

SCENARIO(threads_right) {
    std::vector<std::thread> threads;
    for (int index = 0; index < 4; ++index) {
        threads.emplace_back([] {
            fake_set_current_context(context);
            for (int round = 0; round < 20; ++round) {
                const Word s = stream_create();
                const Word p = allocate(bytes);
                Word graph = 0, executable = 0;
                begin_capture(s, 2);
                launch(fill, s, {p, 1});
                end_capture(s, graph);
                instantiate(executable, graph);
                graph_launch(executable, s);
                host_function(s, [](void*) {});
                stream_synchronize(s);
                exec_destroy(executable);
                graph_destroy(graph);
                release(p);
                stream_destroy(s);
            }
        });
    }
    for (std::thread& each : threads) each.join();
    CHECK(captures_under_way() == 0);
}

void begin(std::string& settings, std::string_view scenario) {
    begin_with_driver(settings, scenario.starts_with("older_driver"));
    model().contexts.insert(context);
    fake_set_current_context(context);
}

}  // namespace graph_programs

const bool graph_programs_are_there =
    families().emplace("graphs", Family{graph_programs::scenarios, graph_programs::begin}).second;

}  // namespace recorded
