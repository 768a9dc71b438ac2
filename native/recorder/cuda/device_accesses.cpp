#include "recorder/cuda/device_accesses.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "recorder/accesses/access_ranges.hpp"
#include "recorder/cuda/access_memory.hpp"
#include "recorder/cuda/access_operations.hpp"
#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/cubin.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/graph_notes.hpp"
#include "recorder/cuda/kernel_pattern.hpp"
#include "recorder/cuda/launch_under_way.hpp"
#include "recorder/cuda/learned_accesses.hpp"
#include "recorder/cuda/noted_launches.hpp"
#include "recorder/cuda/parameter_modes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/run/omissions.hpp"

namespace streamsan::recorder::cuda {
namespace {

std::span<const unsigned char> cubin_of(const abi::SanitizerModuleData& data) {
    return {reinterpret_cast<const unsigned char*>(data.cubin), data.cubin_size};
}

/// Callbacks of launches come while the driver holds locks. So nothing calls the driver or the API under `lists_`.
class DeviceAccesses {
public:
    DeviceAccesses() : graphs_(recorder()->settings.accesses_first) {
        if (const std::uint32_t first = recorder()->settings.accesses_first; first != 0)
            learned_ = std::make_unique<LearnedAccesses>(first);
    }
    void patch(const abi::SanitizerModuleData& data);
    void unloads(abi::Word module);
    void prepare(abi::Word context);
    void begins(const ThreadState& state, const abi::SanitizerLaunchData& data);
    void node_begins(const ThreadState& state, const abi::SanitizerNodeLaunchData& data);
    void issued(std::uint64_t sequence, bool succeeded);
    void loses(abi::Word context);
    void stream_ends(std::uint64_t stream);
    void collect(ThreadState& state, const Call& call);
    bool pending();

private:
    void apply_patches(const abi::SanitizerModuleData& data);
    void learn_tensor_copiers(const abi::SanitizerModuleData& data);
    std::shared_ptr<AccessContext> find(abi::Word context);
    std::vector<std::shared_ptr<AccessContext>> contexts();
    bool is_chosen(const char* symbol);
    bool copies_tensors(const abi::SanitizerLaunchData& data);
    void collect(AccessContext& context, std::size_t part, const Call& call);
    bool is_trusted(const ThreadState& state, PlacedLaunch& learned_from);
    void write_all(const std::vector<Noted>& launches, std::map<std::uint32_t, TouchedRanges> touched, bool whole);

    std::mutex patching_;    ///< the API wants one at a time
    std::mutex preparing_;   ///< a context's first launches wait until it has memory for notes
    std::mutex collecting_;  ///< one thread reads at a time
    std::mutex lists_;
    std::vector<std::shared_ptr<AccessContext>> contexts_;
    std::set<abi::Word> patched_;  ///< contexts that have the patches
    std::unordered_map<abi::Word, std::set<std::string, std::less<>>>
        tensor_copiers_;  ///< kernels, "" for all: by module
    std::unordered_map<std::string, bool> chosen_;
    std::unique_ptr<KernelPattern> choice_;
    std::unique_ptr<LearnedAccesses> learned_;  ///< null: all launches are looked at
    std::vector<TrustedLaunch> trusted_;        ///< launches that the driver does not have yet
    std::unordered_set<std::uint64_t>
        under_way_;  ///< launches that are looked at, and that the driver does not have yet
    GraphNotes graphs_;
};

std::atomic<bool> lives{true};

DeviceAccesses& device_accesses() {
    static auto* const all = new DeviceAccesses;
    return *all;
}

struct Patch {
    abi::PatchedInstruction instruction;
    const char* name;
};
constexpr std::array patches{
    Patch{abi::PatchedInstruction::block_enter, "streamsan_block_enter"},
    Patch{abi::PatchedInstruction::global_memory, "streamsan_global"},
    Patch{abi::PatchedInstruction::bulk_copy_global_to_shared, "streamsan_bulk_load"},
    Patch{abi::PatchedInstruction::bulk_copy_shared_to_global, "streamsan_bulk_store"},
    Patch{abi::PatchedInstruction::bulk_reduction_shared_to_global, "streamsan_bulk_reduction"},
};

void DeviceAccesses::patch(const abi::SanitizerModuleData& data) {
    // The patches are a module as well.
    thread_local bool patches_here = false;
    if (patches_here) return;
    // A patched kernel sets a graph's condition too late: the conditional node takes the value of the launch before
    // (driver 580, Sanitizer API 13.0, NVIDIA's sample graphConditionalNodes).
    if (data.cubin != nullptr && calls_of_driver(cubin_of(data), "cudaGraphSetConditional")) {
        note_omission("the accesses of kernels of a module are not seen: one of them sets conditions of graphs");
        return;
    }
    learn_tensor_copiers(data);
    const std::lock_guard lock(patching_);
    patches_here = true;
    apply_patches(data);
    patches_here = false;
}

void DeviceAccesses::apply_patches(const abi::SanitizerModuleData& data) {
    const Sanitizer& api = *sanitizer();
    if (!patched_.contains(data.context)) {
        if (api.add_patches(recorder()->settings.patch.c_str(), data.context) != abi::sanitizer_success) {
            note_omission(
                "the accesses of kernels are not seen: the Sanitizer API does not take the patch for this device");
            return;
        }
        patched_.insert(data.context);
    }
    // Versions of the API that do not know an instruction refuse it.
    for (const Patch& patch : patches) api.patch_instructions(patch.instruction, data.module, patch.name);
    // Later versions tell more of a copy.
    const char* const copy = api.tells_order ? "streamsan_filled_copy" : "streamsan_async_copy";
    api.patch_instructions(abi::PatchedInstruction::memcpy_async, data.module, copy);
    if (api.patch_module(data.module) != abi::sanitizer_success)
        note_omission("the accesses of some kernels are not seen: their module could not be patched");
}

/// What kernels of a module copy tensors is told by their code: not all versions of the API can look at such copies,
/// and none tells of the memory that they touch.
void DeviceAccesses::learn_tensor_copiers(const abi::SanitizerModuleData& data) {
    if (data.cubin == nullptr) return;
    std::set<std::string, std::less<>> copiers;
    tensor_copiers_in_cubin(cubin_of(data), [&copiers](std::string_view name) { copiers.emplace(name); });
    if (copiers.empty()) return;
    const std::lock_guard lock(lists_);
    tensor_copiers_[data.module] = std::move(copiers);
}

void DeviceAccesses::unloads(abi::Word module) {
    const std::lock_guard lock(lists_);
    tensor_copiers_.erase(module);
}

bool DeviceAccesses::copies_tensors(const abi::SanitizerLaunchData& data) {
    const auto copiers = tensor_copiers_.find(data.module);
    if (copiers == tensor_copiers_.end()) return false;
    const auto& names = copiers->second;
    return data.function_name == nullptr || names.contains("") || names.contains(std::string_view(data.function_name));
}

std::shared_ptr<AccessContext> DeviceAccesses::find(abi::Word context) {
    const auto found =
        std::ranges::find_if(contexts_, [context](const auto& each) { return each->context == context; });
    return found != contexts_.end() ? *found : nullptr;
}

std::vector<std::shared_ptr<AccessContext>> DeviceAccesses::contexts() {
    const std::lock_guard lock(lists_);
    return contexts_;
}

void DeviceAccesses::prepare(abi::Word context) {
    if (context == 0) return;
    const std::lock_guard one(preparing_);
    {
        const std::lock_guard lock(lists_);
        if (find(context) != nullptr) return;
    }
    auto made = std::make_shared<AccessContext>();
    made->context = context;
    made->usable = made->memory.allocate(*sanitizer(), context);
    if (!made->usable) note_omission("the accesses of kernels are not seen: the device has no memory left for notes");
    const std::lock_guard lock(lists_);
    contexts_.push_back(std::move(made));
}

bool DeviceAccesses::is_chosen(const char* symbol) {
    const std::string& pattern = recorder()->settings.kernels;
    if (pattern.empty() || symbol == nullptr) return true;
    if (const auto known = chosen_.find(symbol); known != chosen_.end()) return known->second;
    if (choice_ == nullptr) choice_ = std::make_unique<KernelPattern>(pattern);
    const bool chosen = choice_->is_in(kernel_signature(symbol).label.c_str()) || choice_->is_in(symbol);
    chosen_.emplace(symbol, chosen);
    return chosen;
}

void DeviceAccesses::begins(const ThreadState& state, const abi::SanitizerLaunchData& data) {
    const Sanitizer& api = *sanitizer();
    const void* given = nullptr;
    {
        const std::lock_guard lock(lists_);
        const std::shared_ptr<AccessContext> context = find(data.context);
        const Slot* const slot = state.call.callback != nullptr ? state.call.slot : nullptr;
        // A call that launches on several devices has one slot for each, of which this one is the last.
        const bool known = slot != nullptr && slot->kind == static_cast<std::uint8_t>(OperationKind::LAUNCH) &&
                           state.call.callback->name != "cuLaunchCooperativeKernelMultiDevice";
        if (known && context != nullptr && context->usable && is_chosen(data.function_name)) {
            std::vector<Noted>& launches = context->launches[context->part];
            PlacedLaunch learned_from;
            std::uint32_t& number = context->numbers[context->part];
            if (number < most_launches && !is_trusted(state, learned_from)) {
                given = context->memory.given(context->part, number);
                launches.push_back({state.call.sequence, slot->stream, std::this_thread::get_id(), number++,
                                    copies_tensors(data), std::move(learned_from), nullptr});
                under_way_.insert(state.call.sequence);
            }
        }
    }
    api.set_launch_data(data.launch, data.function, data.stream_handle, given);
}

void DeviceAccesses::node_begins(const ThreadState& state, const abi::SanitizerNodeLaunchData& data) {
    if (data.node_type != abi::NodeType::kernel) return;
    const abi::SanitizerLaunchData& kernel = data.kernel;
    const void* given = nullptr;
    if (GraphNotes::is_launched(state.call, data.graph_exec)) {
        const std::lock_guard lock(lists_);
        const bool wanted = is_chosen(kernel.function_name);
        given = graphs_.given(state.call, data, find(kernel.context), wanted, copies_tensors(kernel));
    }
    sanitizer()->set_launch_data(kernel.launch, kernel.function, kernel.stream_handle, given);
}

/// Whether earlier launches tell what this one touches. If it is to tell that of later ones, `learned_from` is filled.
bool DeviceAccesses::is_trusted(const ThreadState& state, PlacedLaunch& learned_from) {
    if (learned_ == nullptr) return false;
    const LaunchUnderWay launch = launch_under_way(state);
    if (launch.shape == nullptr || !launch.whole || !keeps_values(*launch.shape)) return false;
    PlacedLaunch placed = placed_launch(*launch.shape, launch.references, recorder()->memory);
    TrustedLaunch trusted;
    switch (learned_->ask(placed, state.call.sequence, trusted)) {
        case LearnedAccesses::Answer::LOOK: learned_from = std::move(placed); return false;
        case LearnedAccesses::Answer::WATCH: return false;
        case LearnedAccesses::Answer::TRUST: trusted_.push_back(std::move(trusted)); return true;
        case LearnedAccesses::Answer::WAIT: return true;
    }
    return false;
}

/// The driver has a launch, or has refused it.
void DeviceAccesses::issued(std::uint64_t sequence, bool succeeded) {
    std::unique_lock lock(lists_);
    if (const std::optional<GraphNotes::Issued> graph = graphs_.issued(sequence, succeeded)) {
        lock.unlock();
        graphs_.tell(*graph);
        return;
    }
    const auto trusted =
        std::ranges::find_if(trusted_, [sequence](const TrustedLaunch& each) { return each.sequence == sequence; });
    if (trusted != trusted_.end()) {
        const TrustedLaunch told = std::move(*trusted);
        trusted_.erase(trusted);
        lock.unlock();
        if (succeeded) write_launch_accesses(sequence, told.rows, SeenAccesses::LEARNED);
        return;
    }
    if (under_way_.erase(sequence) == 0) return;
    for (const auto& context : contexts_) {
        for (std::vector<Noted>& launches : context->launches) {
            for (auto launch = launches.rbegin(); launch != launches.rend(); ++launch) {
                if (launch->sequence != sequence) continue;
                launch->issued_at = std::max<std::uint64_t>(recorder()->writer->now(), 1);
                launch->ended = !succeeded;
                if (!succeeded && launch->learned_from.shape != nullptr) learned_->forget(launch->learned_from);
                return;
            }
        }
    }
}

void DeviceAccesses::loses(abi::Word context) {
    {
        const std::lock_guard one(patching_);
        patched_.erase(context);
    }
    const std::lock_guard lock(lists_);
    std::erase_if(contexts_, [context](const auto& each) { return each->context == context; });
}

void DeviceAccesses::stream_ends(std::uint64_t stream) {
    const std::lock_guard lock(lists_);
    for (const auto& context : contexts_) {
        for (std::vector<Noted>& launches : context->launches) {
            for (Noted& launch : launches) launch.left = launch.left || launch.stream == stream;
        }
    }
}

bool DeviceAccesses::pending() {
    const std::lock_guard lock(lists_);
    return std::any_of(contexts_.begin(), contexts_.end(), [](const auto& context) {
        return std::any_of(context->launches.begin(), context->launches.end(),
                           [](const std::vector<Noted>& launches) { return !launches.empty(); });
    });
}

/// Asks of launches whether they have ended, after a call of the program has returned.
class LaunchEnd {
public:
    explicit LaunchEnd(const AccessContext& context, const Call& call)
        : here_(call.context == context.context),
          all_(here_ && call.callback != nullptr && call.callback->effect == Effect::CONTEXT_SYNCHRONIZE &&
               call.status == abi::success),
          entered_(call.entered) {}

    bool operator()(const Noted& launch) {
        if (launch.issued_at == 0) return false;
        if (all_ && launch.issued_at < entered_) return true;
        // A stream that was destroyed cannot be asked any more; only a wait for the whole context tells.
        if (launch.left) return false;
        // The default streams are those of the context and the thread that ask.
        if (launch.stream <= abi::per_thread_stream && !here_) return false;
        if (launch.stream == abi::per_thread_stream && launch.thread != std::this_thread::get_id()) return false;
        const auto [place, fresh] = known_.emplace(launch.stream, false);
        if (fresh) place->second = recorder()->driver->cuStreamQuery(launch.stream) == abi::success;
        return place->second;
    }

private:
    bool here_;
    bool all_;
    std::uint64_t entered_;
    std::map<std::uint64_t, bool> known_;
};

/// What each of these launches touched, and with it what later ones are trusted to touch.
void DeviceAccesses::write_all(const std::vector<Noted>& launches, std::map<std::uint32_t, TouchedRanges> touched,
                               bool whole) {
    const std::vector<std::uint64_t> bases = recorder()->memory.bases();
    for (const Noted& launch : launches) {
        if (launch.graph != nullptr) {
            graphs_.write(launch, touched, bases, whole);
            continue;
        }
        const bool teaches = launch.learned_from.shape != nullptr;
        const auto place = touched.find(launch.number);
        if (place == touched.end()) {
            // Of a kernel that was not patched nothing is known.
            if (teaches) learned_->forget(launch.learned_from);
            continue;
        }
        TouchedRanges& of_launch = place->second;
        keep_known_memory(of_launch);
        LaunchAccesses accesses = accesses_of(of_launch, bases, most_of_allocation, most_accesses);
        accesses.whole = accesses.whole && whole && !launch.copies_tensors;
        write_launch_accesses(launch.sequence, accesses.rows, accesses.whole ? SeenAccesses::ALL : SeenAccesses::SOME);
        if (!teaches) continue;
        for (const TrustedLaunch& told : learned_->learn(launch.learned_from, accesses, recorder()->memory))
            write_launch_accesses(told.sequence, told.rows, SeenAccesses::LEARNED);
    }
}

void DeviceAccesses::collect(AccessContext& context, std::size_t part, const Call& call) {
    std::vector<Noted> launches;
    {
        const std::lock_guard lock(lists_);
        launches = context.launches[part];
    }
    if (launches.empty()) return;
    LaunchEnd ended(context, call);
    std::size_t over = 0;
    for (Noted& launch : launches) over += launch.ended || (launch.ended = ended(launch)) ? 1 : 0;
    {
        const std::lock_guard lock(lists_);
        std::vector<Noted>& now = context.launches[part];
        for (std::size_t number = 0; number < launches.size(); ++number) now[number].ended = launches[number].ended;
        if (part == context.part) {
            // From here on launches note elsewhere; where there is no place, nothing is read yet.
            const auto empty = std::find_if(context.launches.begin(), context.launches.end(),
                                            [](const std::vector<Noted>& each) { return each.empty(); });
            if (empty == context.launches.end()) return;
            context.part = static_cast<std::size_t>(empty - context.launches.begin());
        }
        if (over != now.size()) return;
    }
    TouchedByLaunch touched;
    NotedAmount amount{};
    if (context.memory.read(*sanitizer(), part, touched, amount)) {
        context.memory.clear(*sanitizer(), part, amount);
        write_all(launches, touched.take(), amount.whole);
    } else {
        note_omission("the accesses of some kernels are not seen: the device does not answer any more");
    }
    const std::lock_guard lock(lists_);
    context.launches[part].clear();
    context.numbers[part] = 0;
}

void DeviceAccesses::collect(ThreadState& state, const Call& call) {
    // A stream that captures must not be asked.
    if (recorder()->captures.load(std::memory_order_relaxed) != 0 || recorder()->driver == nullptr) return;
    if (!pending()) return;
    const std::lock_guard one(collecting_);
    const OwnCalls own(state);
    for (const auto& context : contexts()) {
        for (std::size_t part = 0; part < AccessMemory::parts; ++part) collect(*context, part, call);
    }
}

/// Calls after which work is over that was not before.
bool waits(const Call& call) {
    switch (call.callback->effect) {
        case Effect::CONTEXT_SYNCHRONIZE:
        case Effect::STREAM_SYNCHRONIZE:
        case Effect::EVENT_SYNCHRONIZE: return true;
        case Effect::STREAM_QUERY:
        case Effect::EVENT_QUERY: return call.status == abi::success;
        case Effect::COPY:
        case Effect::MEMSET: return call.callback->wait != effects::Wait::ASYNCHRONOUS;
        case Effect::FREE: return call.callback->free != static_cast<std::uint8_t>(FreeClass::ASYNC);
        default: return false;
    }
}

}  // namespace

void patch_module(const abi::SanitizerModuleData& data) {
    if (recorder() != nullptr) device_accesses().patch(data);
}

void device_accesses_lose_module(abi::Word module) {
    if (recorder() != nullptr) device_accesses().unloads(module);
}

void launch_begins(const abi::SanitizerLaunchData& data) {
    if (recorder() != nullptr) device_accesses().begins(this_thread(), data);
}

void node_launch_begins(const abi::SanitizerNodeLaunchData& data) {
    if (recorder() != nullptr) device_accesses().node_begins(this_thread(), data);
}

void device_accesses_lose_context(abi::Word context) {
    if (recorder() != nullptr) device_accesses().loses(context);
}

void before_call(ThreadState& state, Call& call) {
    if (!lives.load(std::memory_order_relaxed)) return;
    switch (call.callback->effect) {
        case Effect::LAUNCH:
        case Effect::GRAPH_LAUNCH: {
            const OwnCalls own(state);
            const RelaxedCaptures relaxed;
            device_accesses().prepare(call.context);
            return;
        }
        case Effect::STREAM_DESTROY:
            device_accesses().collect(state, call);
            device_accesses().stream_ends(call.value(Handle::STREAM));
            return;
        case Effect::CONTEXT_DESTROY:
        case Effect::DEVICE_RESET:
        case Effect::PRIMARY_RELEASE:
        case Effect::PRIMARY_RESET: device_accesses().collect(state, call); return;
        default: return;
    }
}

void after_call(ThreadState& state, Call& call) {
    if (!lives.load(std::memory_order_relaxed)) return;
    if (call.callback->effect == Effect::LAUNCH || call.callback->effect == Effect::GRAPH_LAUNCH)
        device_accesses().issued(call.sequence, call.status == abi::success);
    else if (waits(call)) device_accesses().collect(state, call);
}

void device_accesses_after_fork() { lives.store(false, std::memory_order_relaxed); }

void finish_device_accesses() {
    if (!lives.load(std::memory_order_relaxed) || sanitizer() == nullptr || !device_accesses().pending()) return;
    // Work that the program leaves behind is over soon, or never.
    constexpr auto most_time = std::chrono::seconds(2);
    constexpr auto pause = std::chrono::milliseconds(1);
    const auto begun = std::chrono::steady_clock::now();
    ThreadState& state = this_thread();
    Call none;
    none.context = state.context;
    do {
        device_accesses().collect(state, none);
        if (!device_accesses().pending()) return;
        std::this_thread::sleep_for(pause);
    } while (std::chrono::steady_clock::now() - begun < most_time);
    note_omission("the accesses of some kernels are not seen: the process ended before they did");
}

}  // namespace streamsan::recorder::cuda
