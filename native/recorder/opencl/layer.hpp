// Where the layer stands: between the program and the tables of functions below it.
#pragma once
#include <cstddef>
#include <type_traits>

#include "recorder/opencl/call.hpp"

namespace streamsan::recorder::opencl {

/// The function below us that a call goes to: the loader's, or of another layer; null where there is none.
const void* next_of(Function function);

/// Tables of loaders have 149 or 150 entries; of a longer one no more than these are passed on.
constexpr std::size_t most_places = 256;

/// The table of the layer above us: `entries` functions of the table below, ours in the place of those that are
/// recorded.
const void* const* make_table(const void* const* below, std::size_t entries);

/// The function of ours that stands before one that the program asks for by name; `below` itself where none of ours
/// does, or where another platform's was there before.
void* stood_before(const char* name, void* below);

/// The runtime's function, called by ourselves. The arguments are converted to what the prototype says.
template <Function function, class... Arguments>
auto below(Arguments... arguments) {
    using Type = typename Prototype<function>::Type;
    auto* const called = reinterpret_cast<Type*>(const_cast<void*>(next_of(function)));
    return [&]<class Result, class... Parameters>(Result (*to)(Parameters...)) -> Result {
        if (to == nullptr) {
            if constexpr (std::is_same_v<Result, std::int32_t>) return abi::CL_OUT_OF_RESOURCES;
            else return Result();
        }
        return to(static_cast<Parameters>(arguments)...);
    }(called);
}

/// The address of a variable, as it is passed.
template <class Value>
Word address_of(Value& value) {
    return reinterpret_cast<Word>(&value);
}

}  // namespace streamsan::recorder::opencl
