// The executable and the shared libraries of this process, as the dynamic loader lists them.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace streamsan::recorder::call_sites {

/// A range of addresses, end excluded.
struct AddressRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    [[nodiscard]] bool holds(std::uint64_t address) const noexcept { return address >= begin && address < end; }
    bool operator==(const AddressRange&) const = default;
};

/// A loaded image. Never freed, so that a pointer to one stays good when the library is unloaded.
struct Module {
    std::string path;         ///< of the file, resolved
    std::string loader_name;  ///< as the dynamic loader calls it, empty for the program itself
    std::string build_id;     ///< lower-case hexadecimal, empty when the image has none
    std::uint64_t base =
        0;  ///< what is added to the file's virtual addresses: address - base is an address as in the file
    bool of_the_api = false;  ///< the driver, CUPTI and our library: their frames are left out of call sites
    bool own = false;         ///< our library
    bool c_library = false;   ///< the C library, as a library of its own: what it does, somebody else has asked it for
    bool runtime = false;     ///< the CUDA runtime, as a library of its own: its frames tell which function was called
    bool executable = false;  ///< the program itself
    bool loader = false;      ///< the dynamic loader
    std::vector<AddressRange> segments;  ///< what is mapped and readable
    std::vector<AddressRange> code;      ///< segments with instructions
    AddressRange unwind_table;           ///< PT_GNU_EH_FRAME
    AddressRange dynamic;                ///< PT_DYNAMIC

    /// The end of the readable segment that holds `address`, 0 when none does.
    [[nodiscard]] std::uint64_t readable_until(std::uint64_t address) const noexcept;
    [[nodiscard]] bool is_code(std::uint64_t address) const noexcept;
};

/// Which module holds an address. For cache misses only: takes a lock and asks the loader whether its list has changed.
class Modules {
public:
    static Modules& instance();
    /// The module with `address` in one of its segments, or null (code made at run time, say).
    const Module* find(std::uint64_t address);
    /// The program itself; null when the loader does not say.
    const Module* program();
    /// Calls `visit(const Module&)` for every module that is loaded now, under the lock.
    template <class Visit>
    void each(Visit&& visit) {
        std::scoped_lock lock(mutex_);
        refresh();
        for (const Module* module : loaded_) visit(*module);
    }
    /// How many libraries were unloaded so far: what was cached for addresses before may be wrong now.
    std::uint64_t removals();
    /// How many libraries were loaded so far.
    std::uint64_t additions();

private:
    Modules();
    void refresh();
    const Module* made(const void* information);

    std::mutex mutex_;
    std::uint64_t additions_ = 0;
    std::uint64_t removals_ = 0;
    std::vector<const Module*> loaded_;
    std::vector<std::pair<AddressRange, const Module*>> by_address_;  // sorted
    std::vector<std::unique_ptr<Module>> all_;
};

}  // namespace streamsan::recorder::call_sites
