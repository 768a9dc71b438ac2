#include "recorder/cuda/loaded_code.hpp"

#include <algorithm>

#include "recorder/cuda/cubin.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// Of one image: what programs name themselves is less.
constexpr std::size_t most_variables = 256;

std::uint64_t hash_of_name(std::string_view name) { return std::hash<std::string_view>{}(name); }

bool any_of(std::span<const abi::Word> some, const std::vector<abi::Word>& others) {
    return std::ranges::find_first_of(some, others) != some.end();
}

}  // namespace

void LoadedCode::loaded(ThreadState& state, std::uint32_t module, std::span<const unsigned char> image) {
    if (recorder()->settings.code.empty()) return;
    Image made;
    const auto add = [&made](std::string_view symbol) { made.functions.push_back(hash_of_name(symbol)); };
    if (!functions_in_cubin(image, add) || made.functions.empty()) return;
    std::ranges::sort(made.functions);
    variables_in_cubin(image, [&made](std::string_view symbol) {
        if (made.variables.size() < most_variables) made.variables.emplace_back(symbol);
    });
    made.name = folder_.keep(recorder()->settings, *recorder()->writer, ".cubin", image);
    if (state.call.callback != nullptr) {
        if (state.code_loaded_in != state.correlation) state.code_loaded.clear();
        state.code_loaded_in = state.correlation;
        state.code_loaded.push_back(module);
    }
    {
        const std::lock_guard lock(mutex_);
        images_.insert_or_assign(module, std::move(made));
    }
    loads_.fetch_add(1, std::memory_order_acq_rel);
}

void LoadedCode::unloaded(std::uint32_t module) {
    const std::lock_guard lock(mutex_);
    images_.erase(module);
}

void LoadedCode::belongs(const ThreadState& state, std::span<const abi::Word> owners, std::string_view symbol) {
    if (!has_loaded_code(state) || owners.empty()) return;
    const std::uint64_t hash = hash_of_name(symbol);
    const std::lock_guard lock(mutex_);
    for (const std::uint32_t module : state.code_loaded) {
        const auto found = images_.find(module);
        if (found == images_.end()) continue;
        Image& image = found->second;
        if (!symbol.empty() && !std::ranges::binary_search(image.functions, hash)) continue;
        for (const abi::Word owner : owners)
            if (std::ranges::find(image.owners, owner) == image.owners.end()) image.owners.push_back(owner);
    }
}

LoadedCode::Found LoadedCode::find(std::string_view symbol, std::span<const abi::Word> owners) {
    if (symbol.empty() || recorder()->settings.code.empty()) return {};
    const std::uint64_t hash = hash_of_name(symbol);
    std::vector<const Image*> own, strange;
    const std::lock_guard lock(mutex_);
    for (const auto& [module, image] : images_) {
        if (!std::ranges::binary_search(image.functions, hash)) continue;
        if (any_of(owners, image.owners)) own.push_back(&image);
        else if (owners.empty() || image.owners.empty()) strange.push_back(&image);
    }
    Found found;
    std::vector<std::string> names;
    for (const Image* const image : own.empty() ? strange : own) {
        found.variables.insert(found.variables.end(), image->variables.begin(), image->variables.end());
        if (image->name.empty()) return {};  // it may be the one that is not kept: nobody reads what it does
        names.push_back(image->name);
    }
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    found.missing = names.empty();
    for (const std::string& name : names) found.names += (found.names.empty() ? "" : " ") + name;
    return found;
}

LoadedCode& loaded_code() {
    static auto* const all = new LoadedCode;
    return *all;
}

}  // namespace streamsan::recorder::cuda
