// Kernels: how their arguments lie, and which words of them may lead to memory. The parameter layout of a function is
// asked from the driver once and kept; from then on a launch only reads words.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recorder/cuda/call.hpp"
#include "recorder/cuda/loaded_code.hpp"

namespace streamsan::recorder::cuda {

/// One parameter of a function as the driver lays it out.
struct ParameterPlace {
    std::size_t offset;  ///< in the argument buffer
    std::size_t size;
};

/// Bytes of the largest argument buffer that is looked at; the largest of any device has 32 KiB.
constexpr std::size_t largest_buffer = (std::size_t{1} << 16) - 64;

/// Words in a row of one parameter, each of which may be an address.
struct ArgumentWords {
    static constexpr std::uint32_t no_buffer = UINT32_MAX;
    std::uint32_t buffer;     ///< offset of the first word in the argument buffer; no_buffer: not known
    std::uint16_t parameter;  ///< index in `kernelParams`
    std::uint16_t first;      ///< offset of the first word in the parameter
    std::uint16_t count;
    std::uint8_t mode_flags;  ///< AccessMode, and CONDITIONAL where the words may be leftovers of the stack
};

/// As ParameterPlace, for the launch path: places in a buffer that is not larger than `largest_buffer`.
struct ParameterRoom {
    std::uint16_t offset;
    std::uint16_t size;
};

/// What is known of one kernel. Lives until the process ends. What a launch of most kernels looks at lies in two cache
/// lines.
struct alignas(64) Kernel {
    static constexpr std::uint64_t nothing_to_tell = ~std::uint64_t{0};
    [[nodiscard]] bool tells_variables(std::uint64_t context) const {
        const std::uint64_t told = told_in.load(std::memory_order_relaxed);
        return told != context && told != nothing_to_tell;
    }
    /// Ids in the writer's tables, with the writer's generation in the upper half.
    mutable std::atomic<std::uint64_t> label_id{0};
    mutable std::atomic<std::uint64_t> bare_site{0};
    /// The context in which `variables` were told last: in another they lie elsewhere.
    mutable std::atomic<std::uint64_t> told_in{nothing_to_tell};
    std::array<ArgumentWords, 3> few_words{};  ///< as `words`, where these are no more
    std::uint8_t few = 0;                      ///< how many of them; 0: look at `words`
    bool layout_known = false;  ///< else the arguments were not looked at, or only those that the name tells of
    /// Managed ones are among `variables`.
    mutable std::atomic<bool> uses_managed{false};
    bool code_missing = false;        ///< its machine code was not loaded yet, when this was learnt
    bool gaps = false;                ///< there is room between parameters
    std::uint8_t few_parameters = 0;  ///< how many of `few_rooms`; 0: look at `parameters`
    /// Its arguments differ too often to keep them: set once, by the launch shapes. They are only looked through then.
    mutable std::atomic<bool> arguments_vary{false};
    std::uint16_t argument_bytes = 0;           ///< of the whole argument buffer; 0: not known
    std::array<ParameterRoom, 16> few_rooms{};  ///< as `parameters`, where these are no more
    std::vector<ParameterRoom> parameters;      ///< in the order of `kernelParams`; set by `set_layout` alone
    std::vector<ArgumentWords> words;           ///< those that are sure first; set by `set_words` alone
    std::string symbol;

    void set_words(std::vector<ArgumentWords> found) {
        words = std::move(found);
        few = words.size() <= few_words.size() ? static_cast<std::uint8_t>(words.size()) : std::uint8_t{0};
        std::copy_n(words.begin(), few, few_words.begin());
    }
    /// The layout is known. False where the buffer is larger than any that is looked at.
    bool set_layout(const std::vector<ParameterPlace>& places);
    [[nodiscard]] std::span<const ParameterRoom> parameter_rooms() const {
        return few_parameters != 0 ? std::span(few_rooms.data(), few_parameters)
                                   : std::span(parameters.data(), parameters.size());
    }
    [[nodiscard]] std::span<const ArgumentWords> argument_words() const {
        return few != 0 ? std::span(few_words.data(), few) : std::span(words.data(), words.size());
    }
    std::string label;
    std::string code;                    ///< names of the images of machine code that it may be in, with blanks between
    std::vector<std::string> variables;  ///< symbols of those that its module's code refers to
    abi::Word owner = 0;                 ///< its library, or module; 0: not known
    bool owner_is_library = false;
    std::uint64_t loads = 0;                          ///< images that were loaded until this was learnt
    mutable std::atomic<std::uint64_t> symbol_id{0};  ///< as `label_id`
    mutable std::atomic<std::uint64_t> code_id{0};
};

/// Which words of the parameters may be addresses, by layout and, where it has them, by the types in the kernel's name.
std::vector<ArgumentWords> argument_words(const std::vector<ParameterPlace>& places, std::string_view symbol);

class Kernels {
public:
    Kernels();
    Kernels(const Kernels&) = delete;
    Kernels& operator=(const Kernels&) = delete;

    /// The kernel behind a handle (CUfunction or CUkernel); null when it was not met since the last `forget`. No lock.
    /// `symbol` is its mangled name, null when not known.
    [[nodiscard]] const Kernel* find(std::uint64_t function, const char* symbol) const noexcept;
    /// Asks the driver, and keeps the answer. Takes a lock, but none while it calls the driver.
    const Kernel& learn(std::uint64_t function, const char* symbol);
    /// A module was unloaded: handles may name other functions from now on.
    void forget() noexcept { epoch_.fetch_add(1, std::memory_order_acq_rel); }
    /// In the child of a fork: another thread may have held the lock.
    void after_fork() { new (&mutex_) std::mutex; }

private:
    static constexpr unsigned version_bits = 20;
    struct alignas(64) Cell {
        std::atomic<std::uint64_t> function{0};
        std::atomic<const char*> symbol{nullptr};
        std::atomic<const Kernel*> kernel{nullptr};
        std::atomic<std::uint64_t> stamp{0};  ///< epoch, then the version of the cell; 0: it is being written
        std::uint64_t version = 0;            ///< under the lock
    };
    struct Table {
        explicit Table(std::size_t size) : mask(size - 1), cells(std::make_unique<Cell[]>(size)) {}
        std::size_t mask;
        std::unique_ptr<Cell[]> cells;
    };
    static bool put(Table& table, std::uint64_t function, const char* symbol, const Kernel* kernel,
                    std::uint64_t epoch);
    const Kernel* same(const Kernel& kernel) const;

    std::atomic<Table*> table_;
    std::atomic<std::uint64_t> epoch_{1};
    std::mutex mutex_;
    std::size_t used_ = 0;
    std::vector<std::unique_ptr<Table>> tables_;  // readers may still be in an outgrown one
    std::unordered_map<std::string, std::vector<std::unique_ptr<Kernel>>> all_;  // by symbol
};

/// Of this process. Made at its first use, never destroyed.
Kernels& kernels();

/// Found or learnt; again where its machine code may have been loaded since.
inline const Kernel& kernel_of(std::uint64_t function, const char* symbol) {
    const Kernel* known = kernels().find(function, symbol);
    const bool good = known != nullptr && (!known->code_missing || known->loads == loaded_code().loads());
    return good ? *known : kernels().learn(function, symbol);
}

/// String id of the kernel's label.
std::uint32_t label_id(const Kernel& kernel, Writer& writer);
/// String id of its mangled name, 0 where that is not known, or longer than a string of a trace.
std::uint32_t symbol_id(const Kernel& kernel, Writer& writer);
/// String id of the names of its machine code, 0 where it is not known or not kept.
std::uint32_t code_id(const Kernel& kernel, Writer& writer);
/// Site id of a place that is not known, with the kernel's label.
std::uint32_t bare_site(const Kernel& kernel, Writer& writer);

}  // namespace streamsan::recorder::cuda
