#include "recorder/sites/modules.hpp"

#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "recorder/sites/memory_reading.hpp"

namespace streamsan::recorder::call_sites {
namespace {

// By file name: the driver, CUPTI and what they load; OpenCL's loader. Libraries built upon the runtime (cuBLAS, cuDNN,
// NCCL) are not among them: a user may want to know which of them made a call. Nor is the runtime: its frames tell
// which function was called.
constexpr std::array<std::string_view, 9> api_libraries{"libcuda.so",       "libcupti",          "libnvperf",
                                                        "libcudadebugger",  "libnvidia-",        "libnvcuda",
                                                        "libcheckpoint.so", "libpcsamplingutil", "libOpenCL"};

std::string_view file_name(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool named_as_api(std::string_view path) {
    const std::string_view name = file_name(path);
    return std::any_of(api_libraries.begin(), api_libraries.end(),
                       [&](std::string_view start) { return name.starts_with(start); });
}

bool named_as_c_library(std::string_view path) {
    const std::string_view name = file_name(path);
    return name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("libpthread") ||
           name.starts_with("ld-");
}

bool named_as_runtime(std::string_view path) { return file_name(path).starts_with("libcudart"); }

std::string canonical(const char* path) {
    std::array<char, PATH_MAX> resolved{};
    if (path == nullptr || *path == 0) {
        const auto length = readlink("/proc/self/exe", resolved.data(), resolved.size() - 1);
        return length > 0 ? std::string(resolved.data(), static_cast<std::size_t>(length)) : std::string();
    }
    return realpath(path, resolved.data()) != nullptr ? std::string(resolved.data()) : std::string(path);
}

constexpr std::uint64_t aligned4(std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; }

/// The GNU build id among the notes in `notes`, which lie in a loaded segment.
std::string build_id_in(AddressRange notes) {
    constexpr std::uint32_t gnu_build_id = 3;
    std::uint64_t at = notes.begin;
    while (notes.end - at >= 12) {
        const auto name_size = load<std::uint32_t>(at);
        const auto size = load<std::uint32_t>(at + 4);
        const auto type = load<std::uint32_t>(at + 8);
        const std::uint64_t name = at + 12;
        const std::uint64_t text = name + aligned4(name_size);
        const std::uint64_t next = text + aligned4(size);
        if (next > notes.end || next <= at) return {};
        if (type == gnu_build_id && name_size == 4 && load<std::uint32_t>(name) == 0x00554e47 /* "GNU" */) {
            constexpr std::string_view digits = "0123456789abcdef";
            std::string result;
            for (std::uint64_t byte = text; byte < text + size; ++byte) {
                const auto value = load<std::uint8_t>(byte);
                result += digits[value >> 4];
                result += digits[value & 15];
            }
            return result;
        }
        at = next;
    }
    return {};
}

std::uint64_t own_code() { return reinterpret_cast<std::uint64_t>(&own_code); }

}  // namespace

std::uint64_t Module::readable_until(std::uint64_t address) const noexcept {
    for (const AddressRange& range : segments)
        if (range.holds(address)) return range.end;
    return 0;
}

bool Module::is_code(std::uint64_t address) const noexcept {
    return std::any_of(code.begin(), code.end(), [&](const AddressRange& range) { return range.holds(address); });
}

Modules& Modules::instance() {
    // Never destroyed: calls come from static destructors and from threads that outlive them.
    static Modules& modules = *new Modules;
    return modules;
}

const Module* Modules::made(const void* information) {
    const auto& image = *static_cast<const dl_phdr_info*>(information);
    auto module = std::make_unique<Module>();
    module->base = image.dlpi_addr;
    std::vector<AddressRange> notes;
    for (unsigned index = 0; index < image.dlpi_phnum; ++index) {
        const auto& header = image.dlpi_phdr[index];
        const AddressRange range{image.dlpi_addr + header.p_vaddr, image.dlpi_addr + header.p_vaddr + header.p_memsz};
        if (header.p_type == PT_LOAD && (header.p_flags & PF_R) != 0) {
            module->segments.push_back(range);
            if ((header.p_flags & PF_X) != 0) module->code.push_back(range);
        }
        if (header.p_type == PT_GNU_EH_FRAME) module->unwind_table = range;
        if (header.p_type == PT_DYNAMIC) module->dynamic = range;
        if (header.p_type == PT_NOTE) notes.push_back(range);
    }
    for (const AddressRange& range : notes)
        if (module->build_id.empty() && module->readable_until(range.begin) >= range.end)
            module->build_id = build_id_in(range);
    module->loader_name = image.dlpi_name == nullptr ? "" : image.dlpi_name;
    // Every listing sees all libraries: one that was seen at this place, by this name and build, is the same module.
    for (const auto& known : all_)
        if (known->base == module->base && known->segments == module->segments &&
            known->loader_name == module->loader_name && known->build_id == module->build_id)
            return known.get();
    module->path = canonical(image.dlpi_name);
    module->executable = module->loader_name.empty();
    module->loader = module->base != 0 && module->base == getauxval(AT_BASE);
    module->own = !module->executable && module->is_code(own_code());
    module->of_the_api = named_as_api(module->path) || module->own;
    module->c_library = named_as_c_library(module->path);
    module->runtime = named_as_runtime(module->path);
    all_.push_back(std::move(module));
    return all_.back().get();
}

void Modules::refresh() {
    struct Listing {
        Modules* modules;
        bool first = true;
        std::uint64_t additions = 0;
        std::uint64_t removals = 0;
        std::vector<const Module*> loaded;

        /// The module, where nothing was unloaded since the last listing and it has its place in this one. A framework
        /// loads hundreds of libraries, one by one: to look at each again at every change, its notes too, took
        /// milliseconds.
        [[nodiscard]] const Module* as_before(const dl_phdr_info& image) const {
            const std::size_t place = loaded.size();
            if (removals != modules->removals_ || place >= modules->loaded_.size()) return nullptr;
            const Module* const before = modules->loaded_[place];
            const bool same = before->base == image.dlpi_addr &&
                              before->loader_name == (image.dlpi_name == nullptr ? "" : image.dlpi_name);
            return same ? before : nullptr;
        }
    } listing{this, true, 0, 0, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* image, std::size_t, void* argument) {
            auto& seen = *static_cast<Listing*>(argument);
            if (seen.first) {
                seen.first = false;
                seen.additions = image->dlpi_adds;
                seen.removals = image->dlpi_subs;
                if (seen.additions == seen.modules->additions_ && seen.removals == seen.modules->removals_) return 1;
            }
            const Module* const before = seen.as_before(*image);
            seen.loaded.push_back(before != nullptr ? before : seen.modules->made(image));
            return 0;
        },
        &listing);
    if (listing.loaded.empty()) return;
    additions_ = listing.additions;
    removals_ = listing.removals;
    loaded_ = std::move(listing.loaded);
    by_address_.clear();
    for (const Module* module : loaded_)
        for (const AddressRange& range : module->segments) by_address_.emplace_back(range, module);
    std::sort(by_address_.begin(), by_address_.end(),
              [](const auto& left, const auto& right) { return left.first.begin < right.first.begin; });
}

const Module* Modules::find(std::uint64_t address) {
    std::scoped_lock lock(mutex_);
    refresh();
    auto after = std::upper_bound(by_address_.begin(), by_address_.end(), address,
                                  [](std::uint64_t wanted, const auto& entry) { return wanted < entry.first.begin; });
    if (after == by_address_.begin()) return nullptr;
    --after;
    return after->first.holds(address) ? after->second : nullptr;
}

const Module* Modules::program() {
    std::scoped_lock lock(mutex_);
    refresh();
    for (const Module* module : loaded_)
        if (module->executable) return module;
    return nullptr;
}

std::uint64_t Modules::removals() {
    std::scoped_lock lock(mutex_);
    refresh();
    return removals_;
}

std::uint64_t Modules::additions() {
    std::scoped_lock lock(mutex_);
    refresh();
    return additions_;
}

Modules::Modules() {
    // A child must find neither our lock taken nor the loader's by a thread of ours that is reading its list: glibc
    // does not give the loader's back. So no fork happens meanwhile.
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().mutex_.unlock(); });
}

}  // namespace streamsan::recorder::call_sites
