#include "recorder/sites/before_main.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "recorder/sites/frame_description.hpp"
#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/modules.hpp"

namespace streamsan::recorder::call_sites {
namespace {

std::uint64_t displaced(std::uint64_t next, std::uint64_t at) {
    return next + static_cast<std::uint64_t>(static_cast<std::int64_t>(load<std::int32_t>(at)));
}

/// main()'s address as the program's start code gives it to the C library: the instruction that loads rdi (System V
/// psABI: the first argument of __libc_start_main). 0 when no such instruction is there.
std::uint64_t main_given_by_start_code(const Module& program) {
    constexpr std::uint64_t looked_at = 64;
    const std::uint64_t start = getauxval(AT_ENTRY);
    if (!program.is_code(start) || !program.is_code(start + looked_at + 8)) return 0;
    for (std::uint64_t at = start; at < start + looked_at; ++at) {
        const std::uint32_t three = load<std::uint32_t>(at) & 0xffffff;
        if (three == 0x3d8d48) return displaced(at + 7, at + 3);  // lea main(%rip), %rdi
        if (three == 0xc7c748)
            return static_cast<std::uint64_t>(
                static_cast<std::int64_t>(load<std::int32_t>(at + 3)));  // mov $main, %rdi
        if (three == 0x3d8b48) {                                         // mov main@GOTPCREL(%rip), %rdi
            const std::uint64_t entry = displaced(at + 7, at + 3);
            return program.readable_until(entry) >= entry + 8 ? load<std::uint64_t>(entry) : 0;
        }
    }
    return 0;
}

AddressRange function_of(const Module& module, std::uint64_t address) {
    const auto description = frame_description(module, address);
    return description ? description->function : AddressRange{};
}

/// Whether code of `from` may jump into `to`: a tail call, or a part of the function that the compiler moved away.
/// Looks at all bytes, so it may say yes too often.
bool jumps_into(AddressRange from, AddressRange to) {
    for (std::uint64_t at = from.begin; at + 6 <= from.end; ++at) {
        const auto first = load<std::uint8_t>(at);
        const auto second = load<std::uint8_t>(at + 1);
        std::uint64_t target = 0;
        if (first == 0xe9) target = displaced(at + 5, at + 1);
        else if (first == 0x0f && (second & 0xf0) == 0x80) target = displaced(at + 6, at + 2);
        else if (first == 0xeb || (first & 0xf0) == 0x70)
            target = at + 2 + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int8_t>(second)));
        if (to.holds(target)) return true;
    }
    // A jump can be the last instruction.
    return from.end - from.begin >= 5 && load<std::uint8_t>(from.end - 5) == 0xe9 &&
           to.holds(displaced(from.end, from.end - 4));
}

/// The functions that run when the module is loaded: DT_INIT, DT_PREINIT_ARRAY, DT_INIT_ARRAY.
std::vector<std::uint64_t> initialisers(const Module& module) {
    std::vector<std::uint64_t> result;
    std::uint64_t arrays[2] = {0, 0};
    std::uint64_t sizes[2] = {0, 0};
    if (module.dynamic.begin == 0 || module.readable_until(module.dynamic.begin) < module.dynamic.end) return result;
    for (std::uint64_t at = module.dynamic.begin; at + sizeof(Elf64_Dyn) <= module.dynamic.end;
         at += sizeof(Elf64_Dyn)) {
        const auto entry = load<Elf64_Dyn>(at);
        if (entry.d_tag == DT_NULL) break;
        switch (entry.d_tag) {
            case DT_INIT: result.push_back(module.base + entry.d_un.d_ptr); break;
            case DT_INIT_ARRAY: arrays[0] = module.base + entry.d_un.d_ptr; break;
            case DT_INIT_ARRAYSZ: sizes[0] = entry.d_un.d_val; break;
            case DT_PREINIT_ARRAY: arrays[1] = module.base + entry.d_un.d_ptr; break;
            case DT_PREINIT_ARRAYSZ: sizes[1] = entry.d_un.d_val; break;
            default: break;
        }
    }
    for (unsigned index = 0; index < 2; ++index) {
        if (arrays[index] == 0 || module.readable_until(arrays[index]) < arrays[index] + sizes[index]) continue;
        for (std::uint64_t at = arrays[index]; at + 8 <= arrays[index] + sizes[index]; at += 8)
            result.push_back(load<std::uint64_t>(at));
    }
    return result;
}

bool is_initialiser(const Module& module, AddressRange function) {
    const std::vector<std::uint64_t> all = initialisers(module);
    if (std::find(all.begin(), all.end(), function.begin) != all.end()) return true;
    return std::any_of(all.begin(), all.end(), [&](std::uint64_t entry) {
        const AddressRange from = function_of(module, entry);
        return from.begin == entry && entry != 0 && jumps_into(from, function);
    });
}

/// Whether the C library has called main on this stack: a function of its own stands between that and the start
/// (__libc_start_call_main, since glibc 2.34; constructors are called from the start itself). A main that ends with a
/// call, as through a pointer, is not on the stack.
bool main_was_called(const std::uint64_t* addresses, unsigned count) {
    static const auto start = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "__libc_start_main"));
    if (start == 0) return false;
    Modules& modules = Modules::instance();
    const Module* inner = nullptr;
    for (unsigned index = 0; index < count; ++index) {
        const std::uint64_t address = addresses[index] - 1;
        const Module* const module = modules.find(address);
        if (module != nullptr && module == inner && module->c_library && function_of(*module, address).begin == start)
            return true;
        inner = module;
    }
    return false;
}

}  // namespace

bool is_before_main(const std::uint64_t* addresses, unsigned count) {
    Modules& modules = Modules::instance();
    const Module* program = modules.program();
    if (program == nullptr || main_was_called(addresses, count)) return false;
    std::uint64_t main = main_given_by_start_code(*program);
    if (main == 0) main = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "main"));
    if (main == 0 || !program->is_code(main)) return false;
    const AddressRange main_function = function_of(*program, main);
    if (main_function.begin != main) return false;
    bool constructor = false;
    for (unsigned index = 0; index < count; ++index) {
        const std::uint64_t address = addresses[index] - 1;
        const Module* module = modules.find(address);
        if (module == nullptr) continue;
        const AddressRange function = function_of(*module, address);
        if (function.begin == 0) continue;
        if (module == program && (main_function.holds(address) || jumps_into(main_function, function))) return false;
        constructor = constructor || is_initialiser(*module, function);
    }
    return constructor;
}

}  // namespace streamsan::recorder::call_sites
