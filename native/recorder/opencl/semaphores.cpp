// Semaphores (cl_khr_semaphore): a signal is an event of what came before on its queue, a wait waits for the last one.
#include <algorithm>
#include <memory>

#include "recorder/opencl/commands.hpp"
#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/releases.hpp"

namespace streamsan::recorder::opencl {
namespace {

constexpr std::size_t most_semaphore_words = 64;
constexpr Word most_semaphores = 256;

/// Whether the list of properties has nothing but the type: others say that the semaphore is shared with another API.
bool is_own(Word list) {
    for (std::size_t word = 0; list != 0 && word < most_semaphore_words;) {
        const Word name = read_word(list + word++ * sizeof(Word));
        if (name == 0) return true;
        if (name == abi::CL_SEMAPHORE_TYPE_KHR) {
            ++word;
        } else if (name == abi::CL_DEVICE_HANDLE_LIST_KHR) {
            while (word < most_semaphore_words && read_word(list + word * sizeof(Word)) != 0) ++word;
            ++word;
        } else {
            return false;
        }
    }
    return true;
}

void semaphore_made(Call& call) {
    using namespace parameter::clCreateSemaphoreWithPropertiesKHR;
    if (call.result == 0) return;
    live().semaphores.made(call.result,
                           {is_own(call[sema_props]) ? std::make_shared<std::atomic<bool>>(false) : nullptr});
    write_returned(call, OperationKind::EVENT_CREATE, EventKind::COMMAND, 0, call.result);
}

template <class Use>
void for_each_semaphore(const Call& call, Use use) {
    using namespace parameter::clEnqueueWaitSemaphoresKHR;
    const Word count = std::min<Word>(static_cast<std::uint32_t>(call[num_sema_objects]), most_semaphores);
    for (Word position = 0; call[sema_objects] != 0 && position < count; ++position)
        use(read_word(call[sema_objects] + position * sizeof(Word)));
}

/// A wait uses a signal up. One for what nobody here has signalled may wait for anything.
void wait(Call& call) {
    bool seen = true;
    for_each_semaphore(call, [&](Word semaphore) {
        const auto info = live().semaphores.find(semaphore);
        const bool known = info && info->signalled != nullptr && info->signalled->exchange(false);
        if (known) write_before(call, OperationKind::STREAM_WAIT_EVENT, 0, queue_of(call), semaphore);
        seen = seen && known;
    });
    if (!seen) write_before(call, OperationKind::OPAQUE_CALL, 0, queue_of(call), 0);
    write_command(call, OperationKind::QUEUE_MARKER, MarkerKind::WAIT_LIST);
}

void signal(Call& call) { write_command(call, OperationKind::QUEUE_MARKER, MarkerKind::WAIT_LIST); }

void signal_enqueued(Call& call) {
    complete(call);
    if (call.succeeded()) {
        for_each_semaphore(call, [&](Word semaphore) {
            const auto info = live().semaphores.find(semaphore);
            if (!info) return;
            write_returned(call, OperationKind::EVENT_RECORD, 0, queue_of(call), semaphore);
            if (info->signalled != nullptr) info->signalled->store(true);
        });
    }
    tell_of_event(call);
}

void release_semaphore(Call& call) {
    begin_release(call, live().semaphores,
                  {OperationKind::EVENT_DESTROY, HandleKind::EVENT, abi::CL_INVALID_SEMAPHORE_KHR});
}

}  // namespace

void register_semaphores(HandlerTable& table) {
    table.on(Function::clCreateSemaphoreWithPropertiesKHR, {nullptr, semaphore_made});
    table.on(Function::clEnqueueWaitSemaphoresKHR, {wait, end_command});
    table.on(Function::clEnqueueSignalSemaphoresKHR, {signal, signal_enqueued});
    table.on(Function::clRetainSemaphoreKHR,
             {[](Call& call) { begin_retain(call, live().semaphores, HandleKind::EVENT); },
              [](Call& call) { end_retain(call, live().semaphores); }});
    table.on(Function::clReleaseSemaphoreKHR, {release_semaphore, [](Call& call) { complete(call); }});
}

}  // namespace streamsan::recorder::opencl
