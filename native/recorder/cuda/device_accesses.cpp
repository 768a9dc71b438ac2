#include "recorder/cuda/device_accesses.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
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
#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/cubin.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/launch_under_way.hpp"
#include "recorder/cuda/learned_accesses.hpp"
#include "recorder/cuda/omissions.hpp"
#include "recorder/cuda/parameter_modes.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// Each reference has half a slot, and may have a slot for its rows; an operation has 255 slots behind its own.
constexpr std::size_t most_accesses = 168;
constexpr std::size_t most_of_allocation = 48;
constexpr std::uint32_t most_launches = 1U << DeviceNotes::launch_bits;

struct Noted {
    std::uint64_t sequence;  ///< of the LAUNCH
    std::uint64_t stream;    ///< as the trace names it
    std::thread::id thread;
    bool copies_tensors;          ///< then not all that it touches is noted
    PlacedLaunch learned_from;    ///< without a shape: nothing is learned from it
    std::uint64_t issued_at = 0;  ///< the driver has it since then; 0: not yet
    bool left = false;            ///< its stream was destroyed, and cannot be asked
    bool ended = false;
};

struct AccessContext {
    abi::Word context;
    AccessMemory memory;
    bool usable = false;
    std::size_t part = 0;  ///< that launches note in
    std::array<std::vector<Noted>, AccessMemory::parts> launches;
};

/// As a reference of an operation. Of a kernel's reference with a size the bit of ATOMIC means gaps, unless it has
/// rows: so of atomic operations on bytes in a row only the first is told.
/// A word may be a flag that is polled: where nobody tells whether it is read and written in order, its mode is left
/// open.
Reference reference_to(const AccessRows& accessed) {
    constexpr std::uint64_t largest_flag = 8;
    if (!accessed.atomic && accessed.rows == 1 && accessed.width <= largest_flag && !sanitizer()->tells_order)
        return {accessed.begin, 0, static_cast<std::uint8_t>(AccessMode::OPAQUE)};
    auto flags = static_cast<std::uint8_t>(accessed.mode);
    if (accessed.bound) flags |= static_cast<std::uint8_t>(SlotFlag::ASSUMED);
    if (!accessed.atomic) return {accessed.begin, accessed.end() - accessed.begin, flags};
    flags |= static_cast<std::uint8_t>(SlotFlag::ATOMIC);
    if (accessed.rows != 1) return {accessed.begin, accessed.end() - accessed.begin, flags};
    if (!accessed.bound) flags |= static_cast<std::uint8_t>(SlotFlag::TOUCHES);
    return {accessed.begin, 0, flags};
}

/// An operation that says what the launch of this number touched.
void write_accesses(std::uint64_t launch, const std::vector<AccessRows>& all, SeenAccesses seen) {
    Lane* const lane = recorder()->writer->lane();
    if (lane == nullptr) return;
    const std::size_t count = all.size();
    const std::size_t pairs = (count + 1) / 2;
    const auto in_rows =
        std::count_if(all.begin(), all.end(), [](const AccessRows& accessed) { return accessed.rows != 1; });
    Slot* const slot = lane->reserve(static_cast<unsigned>(pairs + static_cast<std::size_t>(in_rows)));
    if (slot == nullptr) return;
    slot->time = recorder()->writer->now();
    slot->object = launch;
    slot->kind = static_cast<std::uint8_t>(OperationKind::LAUNCH_ACCESSES);
    slot->detail = static_cast<std::uint8_t>(seen);
    std::vector<Reference> references;
    references.reserve(count);
    for (const AccessRows& accessed : all) references.push_back(reference_to(accessed));
    put_further_references(slot, references.data(), count);
    Slot* next = slot + 1 + pairs;
    for (std::size_t index = 0; index < count; ++index) {
        const AccessRows& accessed = all[index];
        if (accessed.rows == 1) continue;
        auto& told = *reinterpret_cast<RowsSlot*>(next++);
        told.kind = static_cast<std::uint8_t>(OperationKind::ROWS);
        told.reference = static_cast<std::uint8_t>(index);
        told.width = accessed.width;
        told.pitch = accessed.pitch;
        told.rows = accessed.rows;
        told.slice_pitch = accessed.slice_pitch;
        told.slices = accessed.slices;
    }
    lane->commit();
}

/// Only memory that the program got: what a kernel keeps for itself is of no interest.
void keep_known_memory(TouchedRanges& touched) {
    const AddressMap& memory = recorder()->memory;
    const auto unknown = [&memory](const ByteRange& range) {
        return !memory.maybe(range.begin) && !memory.maybe(range.end - 1);
    };
    for (auto& ranges : touched.of) std::erase_if(ranges, unknown);
    for (auto& ranges : touched.bounds) std::erase_if(ranges, unknown);
}

std::span<const unsigned char> cubin_of(const abi::SanitizerModuleData& data) {
    return {reinterpret_cast<const unsigned char*>(data.cubin), data.cubin_size};
}

/// Callbacks of launches come while the driver holds locks. So nothing calls the driver or the API under `lists_`.
class DeviceAccesses {
public:
    DeviceAccesses() {
        if (const std::uint32_t first = recorder()->settings.accesses_first; first != 0)
            learned_ = std::make_unique<LearnedAccesses>(first);
    }
    void patch(const abi::SanitizerModuleData& data);
    void unloads(abi::Word module);
    void prepare(abi::Word context);
    void begins(const ThreadState& state, const abi::SanitizerLaunchData& data);
    void issued(std::uint64_t sequence, bool succeeded);
    void loses(abi::Word context);
    void stream_ends(std::uint64_t stream);
    void collect(ThreadState& state, const Call& call);
    bool pending();

private:
    void apply_patches(const abi::SanitizerModuleData& data);
    void learn_tensor_copiers(const abi::SanitizerModuleData& data);
    AccessContext* find(abi::Word context);
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
    std::unique_ptr<std::regex> choice_;
    std::unique_ptr<LearnedAccesses> learned_;  ///< null: all launches are looked at
    std::vector<TrustedLaunch> trusted_;        ///< launches that the driver does not have yet
    std::unordered_set<std::uint64_t>
        under_way_;  ///< launches that are looked at, and that the driver does not have yet
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

AccessContext* DeviceAccesses::find(abi::Word context) {
    for (const auto& each : contexts_) {
        if (each->context == context) return each.get();
    }
    return nullptr;
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
    if (choice_ == nullptr) choice_ = std::make_unique<std::regex>(pattern, std::regex::ECMAScript);
    const bool chosen =
        std::regex_search(kernel_signature(symbol).label, *choice_) || std::regex_search(symbol, *choice_);
    chosen_.emplace(symbol, chosen);
    return chosen;
}

void DeviceAccesses::begins(const ThreadState& state, const abi::SanitizerLaunchData& data) {
    const Sanitizer& api = *sanitizer();
    const void* given = nullptr;
    {
        const std::lock_guard lock(lists_);
        AccessContext* const context = find(data.context);
        const Slot* const slot = state.call.callback != nullptr ? state.call.slot : nullptr;
        // A call that launches on several devices has one slot for each, of which this one is the last.
        const bool known = slot != nullptr && slot->kind == static_cast<std::uint8_t>(OperationKind::LAUNCH) &&
                           state.call.callback->name != "cuLaunchCooperativeKernelMultiDevice";
        if (known && context != nullptr && context->usable && is_chosen(data.function_name)) {
            std::vector<Noted>& launches = context->launches[context->part];
            PlacedLaunch learned_from;
            if (launches.size() < most_launches && !is_trusted(state, learned_from)) {
                given = context->memory.given(context->part, static_cast<std::uint32_t>(launches.size()));
                launches.push_back({state.call.sequence, slot->stream, std::this_thread::get_id(), copies_tensors(data),
                                    std::move(learned_from)});
                under_way_.insert(state.call.sequence);
            }
        }
    }
    api.set_launch_data(data.launch, data.function, data.stream_handle, given);
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
    const auto trusted =
        std::ranges::find_if(trusted_, [sequence](const TrustedLaunch& each) { return each.sequence == sequence; });
    if (trusted != trusted_.end()) {
        const TrustedLaunch told = std::move(*trusted);
        trusted_.erase(trusted);
        lock.unlock();
        if (succeeded) write_accesses(sequence, told.rows, SeenAccesses::LEARNED);
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
    for (std::uint32_t number = 0; number < launches.size(); ++number) {
        const Noted& launch = launches[number];
        const bool teaches = launch.learned_from.shape != nullptr;
        const auto place = touched.find(number);
        if (place == touched.end()) {
            // Of a kernel that was not patched nothing is known.
            if (teaches) learned_->forget(launch.learned_from);
            continue;
        }
        TouchedRanges& of_launch = place->second;
        keep_known_memory(of_launch);
        LaunchAccesses accesses = accesses_of(of_launch, bases, most_of_allocation, most_accesses);
        accesses.whole = accesses.whole && whole && !launch.copies_tensors;
        write_accesses(launch.sequence, accesses.rows, accesses.whole ? SeenAccesses::ALL : SeenAccesses::SOME);
        if (!teaches) continue;
        for (const TrustedLaunch& told : learned_->learn(launch.learned_from, accesses, recorder()->memory))
            write_accesses(told.sequence, told.rows, SeenAccesses::LEARNED);
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

/// Kernels of a graph's launch that are on one stream of the driver's are given what the last of them is, so that the
/// value does not tell them apart, and none is looked at. (Measured with driver 580: %gridid does tell them apart. It
/// is the `gridId` of this callback, and the same at each launch of the executable graph.)
void node_launch_begins(const abi::SanitizerNodeLaunchData& data) {
    if (data.node_type == abi::NodeType::kernel)
        sanitizer()->set_launch_data(data.kernel.launch, data.kernel.function, data.kernel.stream_handle, nullptr);
}

void device_accesses_lose_context(abi::Word context) {
    if (recorder() != nullptr) device_accesses().loses(context);
}

void before_call(ThreadState& state, Call& call) {
    if (!lives.load(std::memory_order_relaxed)) return;
    switch (call.callback->effect) {
        case Effect::LAUNCH: {
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
    if (call.callback->effect == Effect::LAUNCH) device_accesses().issued(call.sequence, call.status == abi::success);
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
