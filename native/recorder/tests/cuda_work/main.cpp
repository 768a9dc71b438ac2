// `cuda_work NAME FILE` records one scenario of synthetic calls: the tests read the file back. `cuda_work names` reads
// symbols of kernels from its input and prints what they tell. `cuda_work bench FILE` measures.
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include "bench.hpp"
#include "recorder/cuda/parameter_modes.hpp"
#include "scenarios.hpp"

namespace {

void print_names() {
    using namespace streamsan;
    using namespace streamsan::recorder::cuda;
    for (std::string symbol; std::getline(std::cin, symbol);) {
        const bool demangled = symbol.starts_with("= ");
        const KernelSignature signature =
            demangled ? demangled_signature(symbol.substr(2)) : kernel_signature(symbol.c_str());
        std::printf("%s|%s|", signature.label.c_str(), signature.typed ? "typed" : "untyped");
        for (const ParameterType& parameter : signature.parameters) {
            std::putchar(!parameter.pointer ? '.' : parameter.mode == AccessMode::READ ? 'r' : '*');
        }
        std::putchar('\n');
    }
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view name = count > 1 ? arguments[1] : "";
    if (name == "names") {
        print_names();
        return 0;
    }
    if (count != 3) return 2;
    if (name == "bench") {
        synthetic::bench(arguments[2]);
        return 0;
    }
    const auto& all = synthetic::scenarios();
    const auto found = all.find(name);
    if (found == all.end()) return 2;
    found->second(arguments[2]);
    return 0;
}
