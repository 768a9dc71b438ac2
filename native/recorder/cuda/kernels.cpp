#include "recorder/cuda/kernels.hpp"

#include <algorithm>
#include <cstring>

#include "recorder/cuda/collectives.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/parameter_modes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/launch_path.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::size_t word_size = 8;
constexpr std::size_t first_table = 1024;
/// Of larger by-value structures parts are often not set: they hold what was on the stack before.
constexpr std::size_t largest_sure_structure = 128;
constexpr std::size_t most_parameters = 4096;

std::size_t hash_of(std::uint64_t value) {
    return static_cast<std::size_t>((value ^ value >> 32) * 0x9E3779B97F4A7C15U >> 32);
}

using ParameterInfo = abi::Status (*)(abi::Word, std::size_t, std::size_t*, std::size_t*);

/// Asks for all parameters by one of the driver's two functions. False if this one does not know the handle.
bool ask(ParameterInfo info, std::uint64_t function, std::vector<ParameterPlace>& places) {
    constexpr abi::Status past_the_last = 1;  // CUDA_ERROR_INVALID_VALUE
    if (info == nullptr) return false;
    for (std::size_t index = 0; index < most_parameters; ++index) {
        ParameterPlace place{};
        const abi::Status status = info(function, index, &place.offset, &place.size);
        if (status == past_the_last) return true;
        if (status != abi::success) return false;
        places.push_back(place);
    }
    return true;
}

bool layout_of(std::uint64_t function, std::vector<ParameterPlace>& places) {
    const Recorder* const here = recorder();
    if (here == nullptr || here->driver == nullptr || !here->ready.load(std::memory_order_relaxed) || function == 0)
        return false;
    const OwnCalls own;
    // What the runtime launches is a CUkernel, which cuFuncGetParamInfo refuses.
    if (ask(here->driver->cuKernelGetParamInfo, function, places)) return true;
    places.clear();
    if (ask(here->driver->cuFuncGetParamInfo, function, places)) return true;
    places.clear();
    return false;
}

std::string name_of(std::uint64_t function, const char* symbol) {
    if (symbol != nullptr && *symbol != '\0') return symbol;
    const Recorder* const here = recorder();
    if (here == nullptr || here->driver == nullptr || !here->ready.load(std::memory_order_relaxed) || function == 0)
        return "";
    const OwnCalls own;
    for (const auto ask_name : {here->driver->cuKernelGetName, here->driver->cuFuncGetName}) {
        const char* name = nullptr;
        if (ask_name != nullptr && ask_name(&name, function) == abi::success && name != nullptr) return name;
    }
    return "";
}

/// Asks for the library of a kernel, or the module of a function.
void find_owner(const Driver& driver, std::uint64_t function, Kernel& kernel) {
    const OwnCalls own;
    const auto ask_owner = [&](auto ask_driver) {
        return ask_driver != nullptr && ask_driver(&kernel.owner, function) == abi::success && kernel.owner != 0;
    };
    kernel.owner_is_library = ask_owner(driver.cuKernelGetLibrary);
    if (!kernel.owner_is_library && !ask_owner(driver.cuFuncGetModule)) kernel.owner = 0;
}

/// The images that were loaded inside this call, perhaps by our own questions, are the kernel's own. A library has a
/// module in each context, once it is loaded there: functions of it know that one.
void claim_loaded(const Driver& driver, const Kernel& kernel) {
    const ThreadState& state = this_thread();
    if (kernel.owner == 0 || !has_loaded_code(state)) return;
    std::vector<abi::Word> owners{kernel.owner};
    abi::Word module = 0;
    if (const OwnCalls own; kernel.owner_is_library && driver.cuLibraryGetModule != nullptr &&
                            driver.cuLibraryGetModule(&module, kernel.owner) == abi::success && module != 0)
        owners.push_back(module);
    loaded_code().belongs(state, owners, kernel.symbol);
}

/// Which machine code it may be in, and the variables of that.
void find_code(std::uint64_t function, Kernel& kernel) {
    const Recorder* const here = recorder();
    if (here == nullptr || here->driver == nullptr || here->settings.code.empty() || function == 0 ||
        !here->ready.load(std::memory_order_relaxed))
        return;
    const Driver& driver = *here->driver;
    find_owner(driver, function, kernel);
    const std::span owner(&kernel.owner, kernel.owner == 0 ? 0 : 1);
    kernel.loads = loaded_code().loads();
    claim_loaded(driver, kernel);
    LoadedCode::Found found = loaded_code().find(kernel.symbol, owner);
    if (found.missing && kernel.owner_is_library && driver.cuKernelGetFunction != nullptr &&
        here->captures.load(std::memory_order_relaxed) == 0) {
        // The launch would load it now. Before it, the trace can tell of the variables that the kernel uses.
        abi::Word loaded = 0;
        if (const OwnCalls own; driver.cuKernelGetFunction(&loaded, function) == abi::success) {
            kernel.loads = loaded_code().loads();
            claim_loaded(driver, kernel);
            found = loaded_code().find(kernel.symbol, owner);
        }
    }
    kernel.code = std::move(found.names);
    kernel.code_missing = found.missing;
    kernel.variables = std::move(found.variables);
    if (kernel.owner != 0 && !kernel.variables.empty()) kernel.told_in = 0;
}

/// Which words may be addresses, by layout and, where it has them, by the types in the kernel's name.
std::vector<Parameter> parameters_by_layout(const std::vector<ParameterPlace>& places,
                                            const KernelSignature& signature) {
    const bool typed = signature.typed && signature.parameters.size() == places.size();
    std::vector<Parameter> found;
    for (std::size_t index = 0; index < places.size(); ++index) {
        const ParameterPlace& place = places[index];
        Parameter parameter{static_cast<std::uint16_t>(place.offset),
                            static_cast<std::uint16_t>(place.size),
                            static_cast<std::uint16_t>(index),
                            0,
                            static_cast<std::uint8_t>((word_size - place.offset % word_size) % word_size),
                            static_cast<std::uint8_t>(AccessMode::OPAQUE)};
        if (place.size >= parameter.first + word_size) {
            parameter.words = static_cast<std::uint16_t>((place.size - parameter.first) / word_size);
            if (typed && place.size == word_size && signature.parameters[index].pointer)
                parameter.mode_flags = static_cast<std::uint8_t>(signature.parameters[index].mode);
            if (place.size > largest_sure_structure) parameter.mode_flags |= conditional_flag;
        }
        found.push_back(parameter);
    }
    std::ranges::stable_partition(
        found, [](const Parameter& parameter) { return (parameter.mode_flags & conditional_flag) == 0; });
    return found;
}

/// Which are pointers by the kernel's name, where the driver does not tell the layout.
std::vector<Parameter> parameters_by_name(const KernelSignature& signature) {
    std::vector<Parameter> found;
    for (std::size_t index = 0; index < signature.parameters.size(); ++index) {
        if (signature.parameters[index].pointer)
            found.push_back({0, word_size, static_cast<std::uint16_t>(index), 1, 0,
                             static_cast<std::uint8_t>(signature.parameters[index].mode)});
    }
    return found;
}

}  // namespace

bool Kernel::set_layout(const std::vector<ParameterPlace>& places) {
    std::size_t end = 0;
    for (const ParameterPlace& place : places) {
        if (place.offset > largest_buffer || place.size > largest_buffer - place.offset) return false;
        gaps |= place.offset != end;
        end = std::max(end, place.offset + place.size);
    }
    argument_bytes = static_cast<std::uint16_t>(end);
    return true;
}

Kernels::Kernels() {
    tables_.push_back(std::make_unique<Table>(first_table));
    table_.store(tables_.back().get(), std::memory_order_release);
}

STREAMSAN_LAUNCH_PATH const Kernel* Kernels::find(std::uint64_t function, const char* symbol) const noexcept {
    const Table& table = *table_.load(std::memory_order_acquire);
    const std::uint64_t now = epoch_.load(std::memory_order_acquire);
    for (std::size_t at = hash_of(function);; ++at) {
        const Cell& cell = table.cells[at & table.mask];
        const std::uint64_t holder = cell.function.load(std::memory_order_relaxed);
        if (holder == 0) return nullptr;
        if (holder != function) continue;
        const std::uint64_t stamp = cell.stamp.load(std::memory_order_acquire);
        if (stamp >> version_bits != now) return nullptr;
        const Kernel* const kernel = cell.kernel.load(std::memory_order_acquire);
        const char* const known = cell.symbol.load(std::memory_order_acquire);
        if (cell.stamp.load(std::memory_order_relaxed) != stamp) return nullptr;
        if (known == symbol || symbol == nullptr || kernel->symbol == symbol) return kernel;
        return nullptr;
    }
}

bool Kernels::put(Table& table, std::uint64_t function, const char* symbol, const Kernel* kernel, std::uint64_t epoch) {
    std::size_t at = hash_of(function);
    while (table.cells[at & table.mask].function.load(std::memory_order_relaxed) != 0 &&
           table.cells[at & table.mask].function.load(std::memory_order_relaxed) != function) {
        ++at;
    }
    Cell& cell = table.cells[at & table.mask];
    const bool fresh = cell.function.load(std::memory_order_relaxed) == 0;
    // A reader that meets the cell meanwhile sees another stamp afterwards, and asks again.
    const std::uint64_t version = (++cell.version) & ((std::uint64_t{1} << version_bits) - 1);
    cell.stamp.store(0, std::memory_order_relaxed);
    cell.kernel.store(kernel, std::memory_order_release);
    cell.symbol.store(symbol, std::memory_order_release);
    cell.stamp.store(epoch << version_bits | version, std::memory_order_release);
    cell.function.store(function, std::memory_order_release);
    return fresh;
}

const Kernel* Kernels::same(const Kernel& kernel) const {
    const auto known = all_.find(kernel.symbol);
    if (known == all_.end()) return nullptr;
    for (const auto& other : known->second) {
        if (other->layout_known != kernel.layout_known || other->many_parameters != kernel.many_parameters) continue;
        if (other->code != kernel.code || (kernel.code_missing && other->loads != kernel.loads)) continue;
        if (other->code_missing != kernel.code_missing) continue;
        if (!kernel.variables.empty() && other->owner != kernel.owner) continue;
        return other.get();
    }
    return nullptr;
}

const Kernel& Kernels::learn(std::uint64_t function, const char* symbol) {
    const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
    auto made = std::make_unique<Kernel>();
    made->symbol = name_of(function, symbol);
    const KernelSignature signature = kernel_signature(made->symbol.c_str());
    made->label = signature.label;
    made->collective = is_collective_kernel(made->symbol);
    std::vector<ParameterPlace> places;
    made->layout_known = layout_of(function, places) && made->set_layout(places);
    made->set_parameters(made->layout_known ? parameters_by_layout(places, signature) : parameters_by_name(signature));
    find_code(function, *made);
    const std::lock_guard lock(mutex_);
    const Kernel* kernel = same(*made);
    if (kernel == nullptr) {
        made->number = count_++;
        kernel = made.get();
        all_[made->symbol].push_back(std::move(made));
    }
    Table* table = table_.load(std::memory_order_relaxed);
    if ((used_ + 1) * 2 > table->mask) {
        tables_.push_back(std::make_unique<Table>((table->mask + 1) * 2));
        Table& larger = *tables_.back();
        used_ = 0;
        for (std::size_t at = 0; at <= table->mask; ++at) {
            const Cell& cell = table->cells[at];
            const std::uint64_t holder = cell.function.load(std::memory_order_relaxed);
            if (holder == 0 || cell.stamp.load(std::memory_order_relaxed) >> version_bits != epoch) continue;
            put(larger, holder, cell.symbol.load(std::memory_order_relaxed),
                cell.kernel.load(std::memory_order_relaxed), epoch);
            ++used_;
        }
        table = &larger;
        table_.store(table, std::memory_order_release);
    }
    if (function != 0 && put(*table, function, symbol, kernel, epoch)) ++used_;
    return *kernel;
}

STREAMSAN_LAUNCH_PATH Kernels& kernels() {
    static auto* const all = new Kernels;
    return *all;
}

namespace {

/// Of a text that is interned once in each file: `known` keeps its id.
STREAMSAN_LAUNCH_PATH std::uint32_t id_of_text(std::atomic<std::uint64_t>& known, const std::string& text,
                                               Writer& writer) {
    const std::uint64_t generation = writer.generation() << 32;
    const std::uint64_t before = known.load(std::memory_order_relaxed);
    if (before != 0 && (before & 0xFFFFFFFF00000000U) == generation) return static_cast<std::uint32_t>(before);
    const std::uint32_t id = writer.string(text);
    known.store(generation | id, std::memory_order_relaxed);
    return id;
}

}  // namespace

STREAMSAN_LAUNCH_PATH std::uint32_t label_id(const Kernel& kernel, Writer& writer) {
    return id_of_text(kernel.label_id, kernel.label, writer);
}

// Cut short they would name others.
std::uint32_t symbol_id(const Kernel& kernel, Writer& writer) {
    return kernel.symbol.size() > most_string_bytes ? 0 : id_of_text(kernel.symbol_id, kernel.symbol, writer);
}

std::uint32_t code_id(const Kernel& kernel, Writer& writer) {
    return kernel.code.size() > most_string_bytes ? 0 : id_of_text(kernel.code_id, kernel.code, writer);
}

[[gnu::hot]] std::uint32_t bare_site(const Kernel& kernel, Writer& writer) {
    const std::uint64_t generation = writer.generation() << 32;
    const std::uint64_t known = kernel.bare_site.load(std::memory_order_relaxed);
    if (known != 0 && (known & 0xFFFFFFFF00000000U) == generation) return static_cast<std::uint32_t>(known);
    SiteRecord record;
    record.label = label_id(kernel, writer);
    const std::uint32_t id = record.label == 0 ? 0 : writer.site(record);
    kernel.bare_site.store(generation | id, std::memory_order_relaxed);
    return id;
}

}  // namespace streamsan::recorder::cuda
