// What the dynamic loader reads is read again: the tables of relocations say where the library keeps the addresses of
// the functions that it calls. A library that was linked to have them all bound at its start keeps them in pages that
// the loader has closed to writing by then; these are opened for the moment.
#include "recorder/cuda/library_imports.hpp"

#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace streamsan::recorder::cuda {
namespace {

#if defined(__aarch64__)
constexpr std::uint64_t jump_slot = R_AARCH64_JUMP_SLOT, address_slot = R_AARCH64_GLOB_DAT;
#else
constexpr std::uint64_t jump_slot = R_X86_64_JUMP_SLOT, address_slot = R_X86_64_GLOB_DAT;
#endif

/// The parts of PT_DYNAMIC that are needed.
struct DynamicTables {
    const char* names = nullptr;
    const Elf64_Sym* symbols = nullptr;
    const Elf64_Rela* calls = nullptr;
    std::uint64_t calls_size = 0;
    const Elf64_Rela* others = nullptr;
    std::uint64_t others_size = 0;
};

DynamicTables dynamic_tables_of(const call_sites::Module& library) {
    DynamicTables found;
    const auto* entry = reinterpret_cast<const Elf64_Dyn*>(library.dynamic.begin);
    const auto* const end = reinterpret_cast<const Elf64_Dyn*>(library.dynamic.end);
    const auto place = [&library](std::uint64_t value) {  // glibc has added the base to it, others leave it as it was
        return value < library.base ? value + library.base : value;
    };
    bool with_addends = true;
    for (; entry != nullptr && entry < end && entry->d_tag != DT_NULL; ++entry) {
        const std::uint64_t value = entry->d_un.d_val;
        switch (entry->d_tag) {
            case DT_STRTAB: found.names = reinterpret_cast<const char*>(place(value)); break;
            case DT_SYMTAB: found.symbols = reinterpret_cast<const Elf64_Sym*>(place(value)); break;
            case DT_JMPREL: found.calls = reinterpret_cast<const Elf64_Rela*>(place(value)); break;
            case DT_PLTRELSZ: found.calls_size = value; break;
            case DT_PLTREL: with_addends = value == DT_RELA; break;
            case DT_RELA: found.others = reinterpret_cast<const Elf64_Rela*>(place(value)); break;
            case DT_RELASZ: found.others_size = value; break;
            default: break;
        }
    }
    return with_addends && found.names != nullptr && found.symbols != nullptr ? found : DynamicTables{};
}

std::uint64_t slot_in(const DynamicTables& dynamic, const Elf64_Rela* table, std::uint64_t size, const char* name) {
    if (table == nullptr) return 0;
    for (const Elf64_Rela* each = table; each != table + size / sizeof *each; ++each) {
        const std::uint64_t type = ELF64_R_TYPE(each->r_info);
        if (type != jump_slot && type != address_slot) continue;
        const Elf64_Sym& symbol = dynamic.symbols[ELF64_R_SYM(each->r_info)];
        if (std::strcmp(dynamic.names + symbol.st_name, name) == 0) return each->r_offset;
    }
    return 0;
}

struct ClosedPages {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// What the loader has closed to writing of a library, rounded as it does that.
ClosedPages closed_part(const call_sites::Module& library) {
    struct Asked {
        std::uint64_t base;
        ClosedPages found;
    } asked{library.base, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& into = *static_cast<Asked*>(data);
            if (info->dlpi_addr != into.base) return 0;
            const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
            for (int number = 0; number < info->dlpi_phnum; ++number) {
                const auto& header = info->dlpi_phdr[number];
                if (header.p_type != PT_GNU_RELRO) continue;
                const std::uint64_t begin = into.base + header.p_vaddr;
                into.found = {begin & ~(page - 1), (begin + header.p_memsz) & ~(page - 1)};
            }
            return 1;
        },
        &asked);
    return asked.found;
}

bool store_in_slot(const call_sites::Module& library, std::uint64_t slot, void* value) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const ClosedPages closed = closed_part(library);
    const bool is_closed = slot >= closed.begin && slot < closed.end;
    void* const begin = reinterpret_cast<void*>(slot & ~(page - 1));
    if (is_closed && mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(reinterpret_cast<void**>(slot), value, __ATOMIC_RELEASE);  // other threads may be calling
    if (is_closed) mprotect(begin, page, PROT_READ);
    return true;
}

}  // namespace

bool replace_import(const call_sites::Module& library, const char* name, void* replacement,
                    std::atomic<void*>& original) {
    const DynamicTables dynamic = dynamic_tables_of(library);
    std::uint64_t offset = slot_in(dynamic, dynamic.calls, dynamic.calls_size, name);
    if (offset == 0) offset = slot_in(dynamic, dynamic.others, dynamic.others_size, name);
    const std::uint64_t slot = library.base + offset;
    if (offset == 0 || slot % sizeof(void*) != 0 || library.readable_until(slot) < slot + sizeof(void*)) return false;
    // The slot may still hold the way to the loader, which would put the function's own address there when it is
    // called.
    void* const handle = dlopen(library.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return false;
    if (void* const function = dlsym(handle, name)) {
        original.store(function, std::memory_order_release);
        if (store_in_slot(library, slot, replacement)) return true;  // the handle is kept, and with it the library
    }
    dlclose(handle);
    return false;
}

}  // namespace streamsan::recorder::cuda
