#include "recorder/sites/sites.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>

#include "recorder/sites/after_main.hpp"
#include "recorder/sites/before_main.hpp"
#include "recorder/sites/modules.hpp"
#include "recorder/sites/native_stack.hpp"
#include "recorder/sites/python_layout.hpp"
#include "recorder/sites/python_memo.hpp"
#include "recorder/sites/python_stack.hpp"
#include "recorder/sites/python_text.hpp"
#include "recorder/sites/site_cache.hpp"
#include "recorder/sites/stack_note.hpp"
#include "recorder/launch_path.hpp"

namespace streamsan::recorder {
namespace call_sites {
namespace {

constexpr unsigned native_frames_at_most = 24;
constexpr unsigned python_frames_at_most = 16;

/// Generations are unique in the process, so that a thread's cache can't take one Sites' ids for another's.
std::atomic<std::uint64_t> next_generation{1};

bool is_first_thread() { return syscall(SYS_gettid) == getpid(); }

}  // namespace

/// What one thread knows. What every call looks at comes first.
struct alignas(64) ThreadSites {
    std::uint64_t generation = 0;
    const PythonLayout* python = nullptr;
    bool first_thread = is_first_thread();
    PythonMemo python_memo;
    StackMemo memo;
    std::uint64_t unloadings = 0;
    SiteCache sites;
    NativeStack native{memo};
};

namespace {

thread_local ThreadSites* current_thread = nullptr;

/// A key and not a destructor of the thread-local: other thread-locals' destructors may call the API after it, and then
/// find null.
pthread_key_t thread_key() {
    static const pthread_key_t key = [] {
        pthread_key_t made{};
        pthread_key_create(&made, [](void* value) {
            current_thread = nullptr;
            delete static_cast<ThreadSites*>(value);
        });
        return made;
    }();
    return key;
}

[[gnu::noinline]] ThreadSites& new_thread() {
    auto* made = new ThreadSites;
    pthread_setspecific(thread_key(), made);
    current_thread = made;
    return *made;
}

/// Whether the driver, on a thread of its own or called by the program, touched the memory: itself, or by a function of
/// the C library.
bool is_by_api(const StackStart& start, const std::uint64_t* addresses, unsigned count) {
    const Module* const innermost = Modules::instance().find(start.pc - 1);
    if (innermost != nullptr && innermost->of_the_api && !innermost->own) return true;
    for (unsigned index = 0; index < count; ++index) {
        const Module* const module = Modules::instance().find(addresses[index] - 1);
        if (module == nullptr || !module->c_library) return false;
    }
    return count != 0;
}

}  // namespace

}  // namespace call_sites

using namespace call_sites;

Sites::Sites(Writer& writer) : writer_(writer), generation_(next_generation.fetch_add(1)) {
    // Made now: a fork while another thread makes them would leave the child waiting for that thread.
    Modules::instance();
    thread_key();
    // Asks the loader, which a callback inside of it must not.
    static_cast<void>(call_sites::is_after_main(nullptr, 0));
}

void Sites::forget() {
    after_main_.store(nullptr, std::memory_order_relaxed);
    generation_.store(next_generation.fetch_add(1), std::memory_order_release);
}

/// A thread's first call, or the first after ids have changed.
[[gnu::noinline]] void Sites::learn(ThreadSites& thread, std::uint64_t generation) {
    thread.sites.clear();
    thread.memo.clear();
    thread.python_memo.clear();
    thread.generation = generation;
    thread.first_thread = is_first_thread();  // a fork makes another thread the first
    thread.python = python_.load(std::memory_order_acquire);
}

STREAMSAN_LAUNCH_PATH std::uint32_t Sites::here(std::uint32_t label) {
    try {
        ThreadSites& thread = current_thread != nullptr ? *current_thread : new_thread();
        const std::uint64_t generation = generation_.load(std::memory_order_acquire);
        if (thread.generation != generation) [[unlikely]]
            learn(thread, generation);
        // Python's frames belong to this thread while it is in a call. When the interpreter ends it frees other
        // threads' frames.
        if (const PythonLayout* python = thread.python;
            python != nullptr && (thread.first_thread || python->finalizing() == 0)) {
            if (const std::uint64_t innermost = innermost_python_frame(*python); innermost != 0) {
                std::uint32_t site = thread.python_memo.find(*python, innermost, label);
                if (site != PythonMemo::no_site) [[likely]]
                    return site;
                site = python_site(thread, innermost, label);
                if (site != 0) return site;
            }
        }
        const StackStart start = stack_start();
        const std::uint32_t site = thread.memo.find(start.stack_pointer, start.frame_pointer, label);
        if (site != StackMemo::no_site) [[likely]]
            return site;
        return walked(thread, start, label);
    } catch (const std::exception&) {
        return 0;  // no memory: the call is recorded without a site
    }
}

/// A stack that was not recognised. `start` is in the caller.
[[gnu::noinline]] std::uint32_t Sites::walked(ThreadSites& thread, const StackStart& start, std::uint32_t label) {
    const auto known_from_now_on = [&](std::uint32_t site) {
        thread.memo.remember(start.stack_pointer, start.frame_pointer, label, site);
        return site;
    };
    StackEnd end{};
    std::array<std::uint64_t, 1 + native_frames_at_most> words;
    words[0] = label;
    const unsigned count = thread.native.callers(start, words.data() + 1, native_frames_at_most, end);
    if (count == 0) return known_from_now_on(0);
    if (const std::uint64_t unloadings = thread.native.unloadings(); unloadings != thread.unloadings) {
        thread.unloadings = unloadings;
        thread.sites.clear();
    }
    const std::uint64_t hash = SiteCache::hash_of(words.data(), 1 + count);
    std::uint32_t site = thread.sites.find(words.data(), 1 + count, hash);
    if (site != SiteCache::none) return known_from_now_on(site);
    // A stack not seen before is the moment to see that a Python was loaded meanwhile.
    const std::uint64_t loaded = Modules::instance().additions();
    if (thread.python == nullptr) {
        if (python_looked_for_.exchange(loaded) != loaded && python_.load(std::memory_order_acquire) == nullptr)
            if (const auto found = loaded_python())
                python_.store(new PythonLayout(*found), std::memory_order_release);  // for good
        thread.python = python_.load(std::memory_order_acquire);
        if (thread.python != nullptr) return here(label);
    }
    site = native_site(words.data() + 1, count, label);
    thread.sites.put(words.data(), 1 + count, hash, site);
    return known_from_now_on(site);
}

[[gnu::noinline]] std::uint32_t Sites::python_site(ThreadSites& thread, std::uint64_t innermost, std::uint32_t label) {
    const PythonLayout& python = *thread.python;
    std::array<PythonFrame, PythonMemo::frames_at_most> frames;
    const unsigned all =
        python_frames(python, innermost, frames.data(), static_cast<unsigned>(frames.size()), python_frames_at_most);
    std::array<std::uint64_t, 1 + 3 * python_frames_at_most> words;
    words[0] = std::uint64_t{label} | std::uint64_t{1} << 32;  // told apart from native stacks
    unsigned size = 1;
    unsigned innermost_function = all;
    for (unsigned index = 0; index < all; ++index) {
        if (frames[index].code == 0) continue;
        innermost_function = std::min(innermost_function, index);
        words[size++] = frames[index].code;
        words[size++] = static_cast<std::uint64_t>(frames[index].offset);
        words[size++] = frames[index].version != 0 ? frames[index].version : frames[index].shape;
    }
    if (size == 1) return 0;
    const std::uint64_t hash = SiteCache::hash_of(words.data(), size);
    std::uint32_t site = thread.sites.find(words.data(), size, hash);
    if (site == SiteCache::none) {
        site = 0;
        for (unsigned index = all; index-- > 0;) {
            const PythonFrame& frame = frames[index];
            if (frame.code == 0) continue;
            const PythonPosition position = python_position(python, frame.code, frame.offset);
            SiteRecord record;
            record.file = writer_.string(python_text(python, load<std::uint64_t>(frame.code + python.code_file)));
            record.function = writer_.string(python_text(python, load<std::uint64_t>(frame.code + python.code_name)));
            record.line = position.line;
            record.column = position.column;
            record.label = index == innermost_function ? label : 0;
            record.caller = site;
            site = writer_.site(record);
        }
        thread.sites.put(words.data(), size, hash, site);
    }
    thread.python_memo.remember(python, frames.data(), all, label, site);
    return site;
}

std::uint32_t Sites::native_site(const std::uint64_t* addresses, unsigned count, std::uint32_t label) {
    std::uint32_t caller = 0;
    // Frames of code made at run time lie in no module, and nobody can say later what they were: they are left out.
    unsigned innermost = 0;
    while (innermost < count && Modules::instance().find(addresses[innermost] - 1) == nullptr) ++innermost;
    for (unsigned index = count; index-- > innermost;) {
        const std::uint64_t address = addresses[index] - 1;
        const Module* module = Modules::instance().find(address);
        if (module == nullptr) continue;
        SiteRecord record;
        record.module = writer_.module(module->path, module->build_id);
        record.offset = address - module->base;
        record.label = index == innermost ? label : 0;
        record.caller = caller;
        caller = writer_.site(record);
    }
    if (caller != 0 && call_sites::is_after_main(addresses, count) && !is_after_main(caller)) {
        auto* const listed = new AfterMain{caller, after_main_.load(std::memory_order_relaxed)};
        while (!after_main_.compare_exchange_weak(listed->next, listed, std::memory_order_release)) {
        }
    }
    return caller;
}

std::uint32_t Sites::site_of(const StackNote& note, bool& by_api) {
    ThreadSites& thread = current_thread != nullptr ? *current_thread : new_thread();
    std::array<std::uint64_t, native_frames_at_most> addresses;
    StackEnd end{};
    const unsigned count = thread.native.callers_in_copy(note.start, note.low, note.stack.data(), note.bytes,
                                                         addresses.data(), native_frames_at_most, end);
    by_api = is_by_api(note.start, addresses.data(), count);
    std::uint32_t site = 0;
    for (std::uint32_t index = note.python_count; index-- > 0;) {
        const StackNote::PythonPlace& place = note.python[index];
        SiteRecord record;
        record.file = writer_.string({note.text.data() + place.file, place.file_size});
        record.function = writer_.string({note.text.data() + place.function, place.function_size});
        record.line = place.line;
        record.column = place.column;
        record.caller = site;
        site = writer_.site(record);
    }
    return site != 0 ? site : native_site(addresses.data(), count, 0);
}

bool Sites::main_has_begun() {
    if (main_has_begun_.load(std::memory_order_relaxed)) return true;
    if (!is_first_thread()) return true;
    try {
        ThreadSites& thread = current_thread != nullptr ? *current_thread : new_thread();
        std::array<std::uint64_t, 256> addresses;
        StackEnd end{};
        const unsigned count =
            thread.native.callers(stack_start(), addresses.data(), static_cast<unsigned>(addresses.size()), end);
        if (end == StackEnd::bottom && is_before_main(addresses.data(), count)) return false;
    } catch (const std::exception&) {
        return true;
    }
    main_has_begun_.store(true, std::memory_order_relaxed);
    return true;
}

}  // namespace streamsan::recorder
