#include "recorder/opencl/callbacks.hpp"

#include <atomic>

#include "recorder/opencl/live_objects.hpp"

namespace streamsan::recorder::opencl {
namespace {

/// Sync keys of this recorder, apart from those that others may use.
std::atomic<Word> keys{Word{1} << 33};

template <class... Arguments>
void run(void* data, Arguments... arguments) {
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
    const CallbackBody body(callback->key);
    reinterpret_cast<void (*)(Arguments..., void*)>(callback->function)(arguments...,
                                                                        reinterpret_cast<void*>(callback->data));
}

void on_event(void* event, std::int32_t status, void* data) { run(data, event, status); }
void on_destruction(void* object, void* data) { run(data, object); }

void set_event_callback(Call& call) {
    using namespace parameter::clSetEventCallback;
    if (call[pfn_notify] == 0) return;
    const bool complete = static_cast<std::int32_t>(call[command_exec_callback_type]) == abi::CL_COMPLETE;
    const Word key = new_key();
    const Reference body{key, 0, 0};
    write_entered(call, OperationKind::EVENT_CALLBACK, complete ? CallbackTime::COMPLETE : CallbackTime::EARLIER, 0,
                  call[event], &body, 1);
    stand_before(call, pfn_notify, user_data, key, on_event);
}

void set_destructor_callback(Call& call) {
    using namespace parameter::clSetMemObjectDestructorCallback;
    const auto memory = live().memory.find(call[memobj]);
    if (call[pfn_notify] == 0 || !memory || memory->part || memory->storage == nullptr) return;
    Word key = memory->storage->destructor_key.load(std::memory_order_relaxed);
    if (key == 0) {
        key = new_key();
        memory->storage->destructor_key.store(key, std::memory_order_relaxed);
    }
    stand_before(call, pfn_notify, user_data, key, on_destruction);
}

}  // namespace

Word new_key() { return keys.fetch_add(1, std::memory_order_relaxed); }

CallbackBody::CallbackBody(Word key) noexcept : key_(key) {
    try {
        enter_process();
        write_event(OperationKind::HOST_ACQUIRE, EdgeClass::CONTRACT, key_);
    } catch (...) {
    }
}

CallbackBody::~CallbackBody() {
    try {
        write_event(OperationKind::HOST_RELEASE, EdgeClass::CONTRACT, key_);
    } catch (...) {
    }
}

void forget_unless_set(Call& call) {
    complete(call);
    if (!call.succeeded()) delete reinterpret_cast<Callback*>(call.scratch[3]);
}

void register_callbacks(HandlerTable& table) {
    table.on(Function::clSetEventCallback, {set_event_callback, forget_unless_set});
    table.on(Function::clSetMemObjectDestructorCallback, {set_destructor_callback, forget_unless_set});
}

}  // namespace streamsan::recorder::opencl
