// Demangles C++ names with the C++ runtime's own function: exact for every compiler that follows the Itanium ABI.
#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace {

struct Free {
    void operator()(char* text) const { std::free(text); }
};

// A mangled name can stand for text that is exponentially longer than itself.
constexpr std::size_t longest_mangled = 4096;
constexpr std::size_t longest_demangled = 4096;

nb::object demangle(std::string_view name) {
    if (name.substr(0, 2) != "_Z" || name.size() > longest_mangled) return nb::none();
    int status = 0;
    const std::unique_ptr<char, Free> text(abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status));
    if (status != 0 || text == nullptr) return nb::none();
    const std::string_view all(text.get());
    return nb::cast(std::string(all.substr(0, longest_demangled)));
}

}  // namespace

NB_MODULE(_demangle, module) {
    module.def("demangle", &demangle, nb::arg("name"), nb::sig("def demangle(name: str) -> str | None"));
}
