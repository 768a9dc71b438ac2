// What CuPy's pool calls for each block: methods of a memory hook of its own, for recorder/pool_adapters.py. They are
// functions of C, for a pair of them in Python takes longer than CuPy itself does for a block.
#include <cstdint>
#include <optional>

#include "recorder/cuda/announced_blocks.hpp"
#include "recorder/cuda/python_abi.hpp"

namespace streamsan::recorder::cuda {
namespace {

using python::Object;
using python::Size;

PoolWord hands_out{"cupy.cuda.MemoryPool.malloc"};
PoolWord takes_back{"cupy.cuda.PooledMemory.free"};

/// Set before any of the functions is there to be called.
python::Interpreter interpreter;

/// What each function has with it, as its `self`: a tuple.
enum Kept : Size { mem_ptr, mem_size, current_stream, ptr };

std::optional<std::uint64_t> number(Object* value) {
    const std::uint64_t found = interpreter.number(value);
    if (found != UINT64_MAX || interpreter.exception() == nullptr) return found;
    interpreter.forget_exception();
    return std::nullopt;
}

/// The number that was given by a name, 0 where there is none.
std::uint64_t given(Object* self, Kept kept, Object* const* named, Object* names, Size count) {
    Object* const wanted = interpreter.tuple_item(self, kept);
    // Names of a call are the same objects as ours as a rule.
    for (Size index = 0; index < count; ++index)
        if (interpreter.tuple_item(names, index) == wanted) return number(named[index]).value_or(0);
    for (Size index = 0; index < count; ++index)
        if (interpreter.compared_text(interpreter.tuple_item(names, index), wanted) == 0)
            return number(named[index]).value_or(0);
    return 0;
}

/// The handle of the thread's current stream, if CuPy has one to give.
std::optional<std::uint64_t> stream_of_thread(Object* self) {
    Object* const stream = interpreter.called(interpreter.tuple_item(self, current_stream), nullptr);
    Object* const handle =
        stream != nullptr ? interpreter.attribute(stream, interpreter.tuple_item(self, ptr)) : nullptr;
    std::optional<std::uint64_t> found;
    if (handle != nullptr) {
        found = number(handle);
        interpreter.drop(handle);
    } else {
        interpreter.forget_exception();
    }
    if (stream != nullptr) interpreter.drop(stream);
    return found;
}

Object* nothing() {
    interpreter.keep(interpreter.none);
    return interpreter.none;
}

/// A block has an owner. The pool took it from those of the thread's current stream.
Object* malloc_postprocess(Object* self, Object* const* values, Size positional, Object* names) {
    const Size count = names != nullptr ? interpreter.tuple_size(names) : 0;
    const std::uint64_t address = given(self, mem_ptr, values + positional, names, count);
    const std::uint64_t size = given(self, mem_size, values + positional, names, count);
    if (address == 0 || size == 0) return nothing();
    if (const auto stream = stream_of_thread(self))
        block_handed_out(hands_out, address, size, *stream == 0 ? 1 : *stream);
    return nothing();
}

/// It is about to be the pool's again.
Object* free_preprocess(Object* self, Object* const* values, Size positional, Object* names) {
    const Size count = names != nullptr ? interpreter.tuple_size(names) : 0;
    block_taken_back(takes_back, given(self, mem_ptr, values + positional, names, count), 0);
    return nothing();
}

/// CuPy calls the others too, and what its own do in them, nothing, takes longer.
Object* tell_nothing(Object*, Object* const*, Size, Object*) { return nothing(); }

}  // namespace
}  // namespace streamsan::recorder::cuda

/// The functions malloc_postprocess, free_preprocess and one for each of the other methods, in a tuple. Python's lock
/// is held. Null, with or without an exception, where they can't be made.
extern "C" __attribute__((visibility("default"))) streamsan::recorder::python::Object* streamsan_cupy_hook_1(
    streamsan::recorder::python::Object* get_current_stream) {
    using namespace streamsan::recorder;
    using namespace streamsan::recorder::cuda;
    static python::Method methods[] = {
        {"malloc_postprocess", malloc_postprocess, python::takes_vectorcall, nullptr},
        {"free_preprocess", free_preprocess, python::takes_vectorcall, nullptr},
        {"tell_nothing", tell_nothing, python::takes_vectorcall, nullptr},
    };
    if (!interpreter.find()) return nullptr;
    python::Object* const kept =
        interpreter.built("(NNON)", interpreter.interned("mem_ptr"), interpreter.interned("mem_size"),
                          get_current_stream, interpreter.interned("ptr"));
    if (kept == nullptr) return nullptr;
    const auto made = [kept](python::Method& method) { return interpreter.function(&method, kept, nullptr); };
    python::Object* const all = interpreter.built("(NNN)", made(methods[0]), made(methods[1]), made(methods[2]));
    interpreter.drop(kept);
    return all;
}
