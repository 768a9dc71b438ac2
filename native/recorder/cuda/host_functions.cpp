// A host function runs on a thread of the driver, after the stream's earlier work. What it then tells other threads (a
// flag, a promise, a condition variable) orders them after that work, and nobody sees it. So a function of our own is
// put into the stream right before the program's: it writes, on the same thread of the driver, that all before it is
// over. From there on the run's order between threads, which sequence numbers tell, does the rest.
//
// The program sees nothing of it but a few microseconds: a query may find the stream busy that much longer. It is not
// done while anything captures (it would become a node of the program's graph, or spoil a capture), and where the
// driver refuses it the program's own call goes on as it would have.
#include "recorder/cuda/host_functions.hpp"

#include <atomic>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// Sync keys of this recorder: apart from those that a program's other events may have.
std::atomic<std::uint64_t> keys{std::uint64_t{1} << 32};

/// On the driver's thread. No call of the API is allowed here, and none is made.
void acquire(void* key) noexcept {
    try {
        write_event(OperationKind::HOST_ACQUIRE, EdgeClass::CONTRACT, reinterpret_cast<std::uint64_t>(key));
    } catch (...) {
    }
}

/// Whether our own function can go before the program's.
bool can_follow(const Recorder& here, const Call& call) {
    if (here.driver == nullptr || here.driver->cuLaunchHostFunc == nullptr) return false;
    // A captured call that failed gets here when it is over.
    if (call.captured || call.status != status_unknown || here.captures.load(std::memory_order_relaxed) != 0)
        return false;
    return call.value(Role::FUNCTION) != 0;
}

void enter(ThreadState& state, Call& call) {
    const Recorder& here = *recorder();
    const abi::Word stream = call.stream();
    const abi::Word data = call.value(Role::USER_DATA);
    const std::uint64_t key = can_follow(here, call) ? keys.fetch_add(1, std::memory_order_relaxed) : 0;
    // Of this kind all references are in continuation slots.
    const Reference used[] = {{0, 0, 0}, {data, 0, static_cast<std::uint8_t>(AccessMode::OPAQUE)}};
    // Before our function can run: what the stream is given until now is what the key stands for.
    Slot* const slot =
        write_entered(state, call, OperationKind::HOST_FUNCTION, 0, stream, key, used, here.memory.maybe(data) ? 2 : 0);
    if (slot == nullptr || key == 0) return;
    const OwnCalls own(state);
    if (here.driver->cuLaunchHostFunc(stream, acquire, reinterpret_cast<void*>(key)) != abi::success) slot->object = 0;
}

void exit(ThreadState& state, Call& call) { complete(state, call, false); }

}  // namespace

void register_host_functions(HandlerTable& table) { table.on(Effect::HOST_FUNCTION, {enter, exit}); }

}  // namespace streamsan::recorder::cuda
