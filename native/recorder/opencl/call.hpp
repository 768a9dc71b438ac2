// One call of OpenCL, as the layer sees it before and after; and what the recorder keeps for each host thread.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "generated/opencl_functions.hpp"
#include "generated/vocabulary.hpp"
#include "recorder/opencl/abi.hpp"
#include "recorder/trace_writer/references.hpp"
#include "recorder/trace_writer/writer.hpp"
#include "trace/slot.hpp"

namespace streamsan::recorder::opencl {

using abi::Word;

constexpr std::size_t most_parameters = 16;

/// A call under way: it lives on the stack of the layer's function. Handlers may change the arguments before the
/// runtime gets them.
struct Call {
    Function function{};
    Word* arguments = nullptr;
    Word result = 0;
    bool returns_status = true;  ///< the result is a status, else a handle or a pointer
    bool stopped = false;        ///< the runtime is not called: `result` is what the program gets
    Slot* slot = nullptr;        ///< written at entry, completed at exit; null: nothing was written
    std::uint64_t entered = 0;   ///< Writer::now() at entry
    std::uint32_t site = 0;
    std::uint32_t label = 0;  ///< string id: a kernel's name
    std::int32_t status = 0;  ///< at exit
    std::int32_t own_status = 0;
    std::array<Word, 4> scratch{};  ///< what a handler carries from entry to exit
    std::array<Slot*, 12> before;   ///< further slots that are written at entry: waits of a command, say
    std::size_t before_count = 0;

    [[nodiscard]] const FunctionRow& row() const { return function_table[static_cast<std::size_t>(function)]; }
    [[nodiscard]] Word operator[](unsigned position) const { return arguments[position]; }
    [[nodiscard]] bool succeeded() const { return status >= 0; }
};

/// A word at an address of the program's; 0 where there is none.
template <class Value = Word>
Value read_word(Word address) {
    Value value{};
    if (address != 0) std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}

/// What is done before and after the calls of one function. `exit` sees `call.status`.
struct Handler {
    void (*enter)(Call&) = nullptr;
    void (*exit)(Call&) = nullptr;
};

/// The handlers of all functions; those without are not stood before.
class HandlerTable {
public:
    void on(Function function, Handler handler) { handlers_[static_cast<std::size_t>(function)] = handler; }
    [[nodiscard]] const Handler& of(Function function) const { return handlers_[static_cast<std::size_t>(function)]; }
    [[nodiscard]] bool has(Function function) const {
        return of(function).enter != nullptr || of(function).exit != nullptr;
    }

private:
    std::array<Handler, function_table.size()> handlers_{};
};

/// Of this process, filled when the layer begins.
const HandlerTable& handlers();

void register_contexts(HandlerTable& table);
void register_queues(HandlerTable& table);
void register_events(HandlerTable& table);
void register_callbacks(HandlerTable& table);
void register_programs(HandlerTable& table);
void register_kernels(HandlerTable& table);
void register_memory(HandlerTable& table);
void register_transfers(HandlerTable& table);
void register_images(HandlerTable& table);
void register_maps(HandlerTable& table);
void register_svm(HandlerTable& table);
void register_device_addresses(HandlerTable& table);
void register_command_buffers(HandlerTable& table);
void register_semaphores(HandlerTable& table);

/// Writes an operation before the call: site, api, time, status unknown, flag ENTER. The first reference goes into the
/// slot's `address`, `size` and `flags`, the others to continuation slots. Null when recording has stopped. It becomes
/// `call.slot`, which the exit completes.
Slot* write_entered(Call&, OperationKind, Detail, Word stream, Word object, const Reference* references = nullptr,
                    std::size_t count = 0);
/// The same of an operation that stands before the call's main one, and is completed with it.
Slot* write_before(Call&, OperationKind, Detail, Word stream, Word object, const Reference* references = nullptr,
                   std::size_t count = 0);
/// Writes a whole operation after the call, with its status.
Slot* write_returned(Call&, OperationKind, Detail, Word stream, Word object, const Reference* references = nullptr,
                     std::size_t count = 0);
/// Writes that a call has made an object in a context; 0: that is not known.
void write_handle(Call&, HandleKind, Word handle, Word context);
/// Completes what was written at entry; `renumber` for calls that wait.
void complete(Call&, bool renumber = false);

}  // namespace streamsan::recorder::opencl
