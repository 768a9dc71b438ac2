// One process's device, as small as serves: work is done at once, so nothing is ever pending but on streams that a
// program holds (`fake_hold_stream`); addresses and handles are handed out again as soon as they are free.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernel.hpp"
#include "recorder/cuda/abi_graphs.hpp"
#include "tool.hpp"

namespace fake {

constexpr Status invalid_value = 1;
constexpr Status not_initialized = 3;
constexpr Status invalid_context = 201;
constexpr Status invalid_handle = 400;
constexpr Status illegal_state = 401;
constexpr Status not_supported = 801;
constexpr Status capture_unsupported = 900;
constexpr Status capture_invalidated = 901;
constexpr Status capture_unmatched = 903;
constexpr Status capture_unjoined = 904;

enum class Kind { plain, stream_ordered, managed, pinned, registered, graph };

struct Block {
    std::size_t size;
    Kind kind;
    Word context;
    bool alive;            ///< graph memory: from a launch on
    Word device_view = 0;  ///< pinned memory: where the device finds it, whatever the host protects
};

struct Node {
    abi::NodeParameters given{};  ///< its type; what a node of a copy, a fill, an event, ... is about
    std::vector<Word> before{};
    const Kernel* kernel = nullptr;
    std::vector<std::vector<unsigned char>> arguments{};
    std::vector<void*> argument_pointers{};
    std::vector<Word> bodies{};     ///< of a conditional node
    abi::LaunchConfig launch{};     ///< of a kernel that is launched: its grid and block
    std::uint32_t correlation = 0;  ///< of the call that issued it; 0: a graph did

    [[nodiscard]] bool is(abi::NodeType type) const { return given.type == static_cast<std::int32_t>(type); }
};
Node node_of(abi::NodeType type);
Node kernel_node(const Kernel* kernel, void** arguments);
Node host_node(void (*function)(void*), void* user);
Node alloc_node(Word address, std::size_t bytes);
Node free_node(Word address);

struct Graph {
    std::vector<Word> nodes;
    bool instantiated = false;
};

/// A kernel that a launch of an executable graph runs, children and bodies included.
struct ExecutableKernel {
    Word node;  ///< in the graph that was instantiated; when that is destroyed, nobody's
    std::uint64_t grid;
    Node content;
    bool enabled = true;
};

struct Executable {
    std::vector<Node> nodes;
    Word graph;  ///< that it was made from
    bool auto_free;
    std::vector<ExecutableKernel> kernels{};
};

struct Capture {
    Word graph;
    Word origin;
    int mode;
    std::uint64_t id;
    bool invalid = false;
    std::map<Word, std::vector<Word>> ends;  ///< stream -> nodes that its next one comes after
};

struct Stream {
    unsigned flags = 0;
    Word context = 0;
    std::shared_ptr<Capture> capture;
    bool held = false;            ///< what it is given waits
    std::vector<Node> waiting{};  ///< until it goes on
};

struct Event {
    std::shared_ptr<Capture> capture;  ///< of its latest record
    std::vector<Word> nodes;
    Word waits_for = 0;  ///< a stream that was held when it was recorded
};

class Model {
public:
    Word new_handle();
    void release_handle(Word handle) { free_handles_.push_back(handle); }

    /// Memory of a graph is not alive before a launch.
    Word allocate(std::size_t size, Kind kind, Word context);
    Status release(Word address, std::initializer_list<Kind> kinds);
    bool is_of_graph(Word address) const;
    /// Where copies and fills find the memory at an address.
    Word device_view(Word address) const;
    Stream* stream(Word handle);
    /// A stream that is held and that work on this one comes behind: itself, or one of those that wait for each other.
    Word held_before(Word handle);
    Word add(Word graph, Node node);
    /// The node becomes the latest of a capturing stream, unless the capture takes nothing more.
    Status capture(Stream& stream, Word handle, Node node);
    /// All streams and events leave a capture.
    void leave(const std::shared_ptr<Capture>& capture);
    /// A copy or fill, as the memory of the fake device is ordinary memory; a function of the host.
    void run(const Node& node);
    /// Which captures this thread's potentially unsafe call would break: fails them.
    Status unsafe_call();

    std::recursive_mutex lock;  // the driver holds locks while callbacks of resources run: those may call it again
    std::map<Word, Block> memory;
    std::map<Word, Stream> streams;
    std::map<Word, Event> events;
    std::map<Word, Graph> graphs;
    std::map<Word, Executable> executables;
    std::map<Word, Node> nodes;
    std::set<Word> contexts;
    std::set<std::shared_ptr<Capture>> captures;
    Word primary = 0;
    std::uint64_t next_capture = 1;
    std::uint64_t host_functions = 0;  ///< that have run
    bool answers_about_graphs = true;

private:
    /// What is done, to whoever asked for records of it.
    void tell(const Node& node);

    std::vector<Word> free_handles_;
    Word next_handle_ = 0x5500'0000'1000;
    std::map<std::size_t, std::vector<Word>> free_blocks_;
    Word next_block_ = 0;
    Word end_ = 0;
};

Model& model();
/// Tells whoever asked for the driver's words of them.
void log_line(const std::string& line);
Status driver_state();  ///< 0, or why no call can be made

void fire_graph(abi::Resource resource, const abi::GraphData& data);

/// A call that launches the kernel of this symbol: callbacks around `body`, which runs under the model's lock.
template <class Body, class... Arguments>
Status launching_call(const char* symbol, std::uint32_t id, const char* name, Body body, Arguments... arguments) {
    if (const Status state = driver_state(); state != 0) return state;
    const Parameters<Arguments...> parameters(arguments...);
    SeenCall seen(abi::Domain::driver, id, name, parameters.data(), symbol);
    Status status = 0;
    {
        const std::lock_guard guard(model().lock);
        status = body();
    }
    if (status != 0 && status != 600) log_line("Returning " + std::to_string(status) + " from " + name);
    seen.returned(status);
    return status;
}

/// Any other call.
template <class Body, class... Arguments>
Status driver_call(std::uint32_t id, const char* name, Body body, Arguments... arguments) {
    return launching_call(nullptr, id, name, body, arguments...);
}

}  // namespace fake
