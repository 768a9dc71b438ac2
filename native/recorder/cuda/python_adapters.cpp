#include "recorder/cuda/python_adapters.hpp"

#include <dlfcn.h>
#include <string>
#include <string_view>

#include "recorder/cuda/python_abi.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/run/process_file.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::size_t most_bytes = 1 << 16;

/// As a literal of Python, whatever the text has.
std::string literal(std::string_view text) {
    constexpr const char* digits = "0123456789abcdef";
    std::string hex;
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        hex += digits[byte >> 4];
        hex += digits[byte & 15];
    }
    return "bytes.fromhex('" + hex + "').decode()";
}

/// Where this library is.
std::string library_path() {
    Dl_info found{};
    return dladdr(reinterpret_cast<const void*>(&literal), &found) != 0 && found.dli_fname != nullptr ? found.dli_fname
                                                                                                      : "";
}

/// In the interpreter's main thread, between two of its instructions. 0: no exception.
int run_adapters(void*) noexcept {
    try {
        auto* const run = python::in_program<int(const char*)>("PyRun_SimpleString");
        if (run == nullptr || recorder() == nullptr) return 0;
        const std::string text = contents_of(recorder()->settings.adapters.c_str(), most_bytes);
        if (text.empty()) return 0;
        // The name is one of code that no file has. Nothing is left in the program's own module.
        const std::string code = "try:\n exec(compile(" + literal(text) + ", '<frozen streamsan>', 'exec'), " +
                                 "{'__name__': 'streamsan_pool_adapters', 'LIBRARY': " + literal(library_path()) +
                                 ", 'DRIVER_POOLS': " + (recorder()->settings.driver_pools ? "True" : "False") +
                                 "})\nexcept Exception:\n pass\n";
        run(code.c_str());
    } catch (...) {
    }
    return 0;
}

}  // namespace

void load_python_adapters() {
    auto* const is_running = python::in_program<int()>("Py_IsInitialized");
    auto* const add = python::in_program<int(int (*)(void*), void*)>("Py_AddPendingCall");
    if (is_running != nullptr && add != nullptr && is_running() != 0) add(run_adapters, nullptr);
}

}  // namespace streamsan::recorder::cuda
