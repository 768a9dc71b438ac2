// Functions of the program that the runtime calls.
#pragma once
#include <memory>
#include <utility>

#include "recorder/opencl/call.hpp"
#include "recorder/opencl/processes.hpp"

namespace streamsan::recorder::opencl {

/// A function of the program's, with what it is to be given. Ours is called in its place, with this.
struct Callback {
    Word function;
    Word data;
    Word key;  ///< sync key of the body
};

/// A key that no other body has.
Word new_key();

/// The body of a callback: what the program does there is between its acquire and its release.
class CallbackBody {
public:
    explicit CallbackBody(Word key) noexcept;
    ~CallbackBody();
    CallbackBody(const CallbackBody&) = delete;
    CallbackBody& operator=(const CallbackBody&) = delete;

private:
    Word key_;
};

/// Puts our function in the place of the program's, in the arguments of the call.
template <class Ours>
Callback* stand_before(Call& call, unsigned function, unsigned data, Word key, Ours* ours) {
    auto callback = std::make_unique<Callback>(Callback{call.arguments[function], call.arguments[data], key});
    call.arguments[function] = reinterpret_cast<Word>(ours);
    call.arguments[data] = reinterpret_cast<Word>(callback.get());
    call.scratch[3] = reinterpret_cast<Word>(callback.get());
    return callback.release();
}

/// After the call: one that failed will never call.
void forget_unless_set(Call& call);

}  // namespace streamsan::recorder::opencl
