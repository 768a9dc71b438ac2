// Where in the program a call was made: Python frames where the thread runs Python, else native frames.
#pragma once
#include <atomic>
#include <cstdint>

#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder {

namespace call_sites {
struct PythonLayout;
struct StackNote;
struct StackStart;
struct ThreadSites;
}  // namespace call_sites

/// The site id of the program's frame that called the API from within which this runs (a callback at the API's entry,
/// on the calling thread). 0 when unknown. Cached: a stack seen before costs tens of nanoseconds and takes no lock.
/// `label` is a string id (a kernel's demangled name, say), part of the site; 0 for none.
/// Native sites have `offset` of the call instruction's last byte, so that its line is the call's.
class Sites {
public:
    explicit Sites(Writer& writer);
    std::uint32_t here(std::uint32_t label);
    /// Notes where the calling thread is, for `site_of`: frames from `start` on, and Python's. Takes no lock and no
    /// memory, and reads only: for handlers of signals.
    void note(call_sites::StackNote& note, const call_sites::StackStart& start) const noexcept;
    /// The site of a note, on any thread. 0 when unknown; `by_api` says that it was the driver, not the program.
    std::uint32_t site_of(const call_sites::StackNote& note, bool& by_api);
    /// False while static constructors run: main() of the program is not on this stack (the process's first thread),
    /// and a function is that the loader runs before main. True as soon as it was true once on that thread, on other
    /// threads, and when in doubt.
    bool main_has_begun();
    /// Whether a site of this file is of a call that the end of the process made: exit() is on its native stack. Costs
    /// one load until the first such call.
    [[nodiscard]] bool is_after_main(std::uint32_t site) const {
        for (const AfterMain* each = after_main_.load(std::memory_order_acquire); each != nullptr; each = each->next)
            if (each->site == site) return true;
        return false;
    }
    void forget();  ///< after rotation or fork: ids of the old file mean nothing in the new one

private:
    void learn(call_sites::ThreadSites& thread, std::uint64_t generation);
    std::uint32_t walked(call_sites::ThreadSites& thread, const call_sites::StackStart& start, std::uint32_t label);
    std::uint32_t python_site(call_sites::ThreadSites& thread, std::uint64_t innermost, std::uint32_t label);
    std::uint32_t native_site(const std::uint64_t* addresses, unsigned count, std::uint32_t label);

    /// A site from after main. Only ever added: read without a lock, and a fork finds the list whole.
    struct AfterMain {
        std::uint32_t site;
        const AfterMain* next;
    };

    Writer& writer_;
    std::atomic<std::uint64_t> generation_;
    std::atomic<const call_sites::PythonLayout*> python_{nullptr};
    std::atomic<std::uint64_t> python_looked_for_{0};  // how many libraries had been loaded then
    std::atomic<bool> main_has_begun_{false};
    std::atomic<const AfterMain*> after_main_{nullptr};
};

}  // namespace streamsan::recorder
