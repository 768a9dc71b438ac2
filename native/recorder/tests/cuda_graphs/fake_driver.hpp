// A driver of graphs that exists only here: its functions describe what the program made, and a program calls it
// through the two callbacks around each call, as CUPTI gives them. Nothing runs.
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/abi_graphs.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/recorder.hpp"

namespace fake {

namespace abi = streamsan::recorder::cuda::abi;
using abi::Status;
using abi::Word;

constexpr std::size_t kib = 1 << 10;

/// A kernel: its handle is its address.
struct Kernel {
    const char* symbol;
    std::vector<std::size_t> sizes;
};

struct Node {
    abi::NodeType type{};
    std::vector<Word> before;
    const Kernel* kernel = nullptr;
    std::vector<Word> arguments;
    std::vector<void*> argument_pointers;
    abi::Copy3D copy{};
    abi::MemsetNode fill{};
    abi::HostNode host{};
    abi::BatchMemoryNode operations{};
    Word event = 0;
    Word address = 0;
    std::size_t bytes = 0;
    Word child = 0;
    std::vector<Word> bodies;
};

struct Graph {
    std::vector<Word> nodes;
    bool instantiated = false;
};

struct Capture {
    Word graph;
    Word origin;
    std::uint64_t id;
    bool invalid = false;
    std::map<Word, std::vector<Word>> ends;
};

struct Block {
    std::size_t bytes;
    bool alive;
    bool of_graph;
};

/// All state of the fake driver. One lock; it is not held while callbacks run.
struct World {
    std::recursive_mutex lock;
    std::map<Word, Graph> graphs;
    std::map<Word, Node> nodes;
    std::map<Word, Word> executables;  ///< and the graph they were made from
    std::set<Word> auto_free;          ///< executable graphs with that flag
    std::set<Word> launched;
    std::map<Word, std::shared_ptr<Capture>> capturing;  ///< by stream
    std::map<Word, std::shared_ptr<Capture>> captured_events;
    std::map<Word, std::vector<Word>> event_ends;
    std::map<Word, Block> memory;
    std::vector<Word> spare_handles;
    Word next_handle = 0x10000;
    Word next_address = 0x7f0000000000;
    std::uint64_t next_capture = 1;
    bool questions_fail = false;  ///< the driver answers nothing about graphs
    bool old = false;             ///< a driver without the later versions of some functions
    std::uint64_t host_functions = 0;
    std::vector<std::thread> host_threads;

    Word handle();
    Word allocate(std::size_t bytes, bool of_graph);
    Word add(Word graph, Node node);
};
World& world();

/// The driver's functions as the recorder finds them.
const streamsan::recorder::cuda::Driver& driver();

/// The line of the call under way: what stands for a call site here.
extern thread_local std::uint32_t line_here;

/// One call: the callback before it, the call, the callback after it. `arguments` as in CUPTI's parameter structure.
Status call(std::uint16_t id, const std::vector<unsigned char>& parameters, const char* symbol, Word context,
            const std::function<Status()>& body);
/// Graph events from inside a call.
void tell(abi::Resource resource, const abi::GraphData& data);

template <class... Arguments>
std::vector<unsigned char> packed(Arguments... arguments) {
    std::vector<unsigned char> bytes;
    const auto put = [&bytes](auto argument) {
        while (bytes.size() % sizeof argument != 0) bytes.push_back(0);
        const auto* const first = reinterpret_cast<const unsigned char*>(&argument);
        bytes.insert(bytes.end(), first, first + sizeof argument);
    };
    (put(arguments), ...);
    return bytes;
}

using Where = std::source_location;

/// The context of the thread's calls.
extern thread_local Word context_here;

// -- what programs call
// -------------------------------------------------------------------------------------------------

Word stream_create(Where where = Where::current());
Status stream_destroy(Word stream, Where where = Where::current());
Status stream_synchronize(Word stream, Where where = Where::current());
Word event_create(Where where = Where::current());
Status event_record(Word event, Word stream, Where where = Where::current());
Status stream_wait(Word stream, Word event, Where where = Where::current());
Word allocate(std::size_t bytes, Where where = Where::current());
Status release(Word address, Where where = Where::current());
Status allocate_async(Word& address, std::size_t bytes, Word stream, Where where = Where::current());
Status release_async(Word address, Word stream, Where where = Where::current());
Status launch(const Kernel& kernel, Word stream, std::vector<Word> arguments, Where where = Where::current());
Status host_function(Word stream, void (*function)(void*), void* data, Where where = Where::current());
Status destroy_context(Where where = Where::current());

Status begin_capture(Word stream, int mode = 0, Where where = Where::current());
Status begin_capture_to(Word stream, Word graph, Where where = Where::current());
Status end_capture(Word stream, Word& graph, Where where = Where::current());
Status instantiate(Word& executable, Word graph, unsigned long long flags = 0, Where where = Where::current());
Status update(Word executable, Word graph, Where where = Where::current());
Status graph_launch(Word executable, Word stream, Where where = Where::current());
Status exec_destroy(Word executable, Where where = Where::current());

Word graph_create(Where where = Where::current());
Status graph_destroy(Word graph, Where where = Where::current());
Status graph_clone(Word& made, Word graph, Where where = Where::current());
Word add_kernel(Word graph, const std::vector<Word>& before, const Kernel& kernel, std::vector<Word> arguments,
                Where where = Where::current());
Word add_copy(Word graph, const std::vector<Word>& before, Word to, Word from, std::size_t bytes,
              Where where = Where::current());
Word add_fill(Word graph, const std::vector<Word>& before, Word to, std::size_t bytes, std::size_t rows = 1,
              std::size_t pitch = 0, Where where = Where::current());
Word add_host(Word graph, const std::vector<Word>& before, void* data, Where where = Where::current());
Word add_empty(Word graph, const std::vector<Word>& before, Where where = Where::current());
Word add_event(Word graph, const std::vector<Word>& before, bool record, Word event, Where where = Where::current());
Word add_child(Word graph, const std::vector<Word>& before, Word child, Where where = Where::current());
Word add_semaphore(Word graph, const std::vector<Word>& before, Where where = Where::current());
Word add_operations(Word graph, const std::vector<Word>& before, Word waited, Word written,
                    Where where = Where::current());
Word add_alloc(Word graph, const std::vector<Word>& before, std::size_t bytes, Word& address,
               Where where = Where::current());
Status add_free(Word& node, Word graph, const std::vector<Word>& before, Word address, Where where = Where::current());
/// By the generic call.
Word add_conditional(Word graph, const std::vector<Word>& before, std::vector<Word>& bodies,
                     Where where = Where::current());

Status set_kernel(Word executable, Word node, const Kernel& kernel, std::vector<Word> arguments,
                  Where where = Where::current());
Status set_child(Word executable, Word node, Word child, Where where = Where::current());
/// By the generic call.
Status set_fill(Word executable, Word node, Word to, std::size_t bytes, Where where = Where::current());
Status enable(Word executable, Word node, unsigned enabled, Where where = Where::current());

}  // namespace fake
