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

struct ArgumentVariance;  // argument_variance.hpp

/// One parameter of a function as the driver lays it out.
struct ParameterPlace {
    std::size_t offset;  ///< in the argument buffer
    std::size_t size;
};

/// Bytes of the largest argument buffer that is looked at; the largest of any device has 32 KiB.
constexpr std::size_t largest_buffer = (std::size_t{1} << 16) - 64;

/// One parameter, as a launch looks at it.
struct Parameter {
    std::uint16_t offset;     ///< in the argument buffer; 0 where the layout is not known
    std::uint16_t size;       ///< in bytes
    std::uint16_t index;      ///< in `kernelParams`
    std::uint16_t words;      ///< so many in a row, each of which may be an address; most have one or none
    std::uint8_t first;       ///< offset of the first word in the parameter
    std::uint8_t mode_flags;  ///< AccessMode, and CONDITIONAL where the words may be leftovers of the stack

    bool operator==(const Parameter&) const = default;
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
    std::uint32_t number = 0;          ///< kernels are counted: where a thread keeps something of each
    std::uint16_t argument_bytes = 0;  ///< of the whole argument buffer; 0: not known
    bool layout_known = false;         ///< else the arguments were not looked at, or only those that the name tells of
    /// Managed ones are among `variables`.
    mutable std::atomic<bool> uses_managed{false};
    bool code_missing = false;  ///< its machine code was not loaded yet, when this was learnt
    bool gaps = false;          ///< there is room between parameters
    bool collective = false;    ///< one of NCCL's, which may tell what it uses (collectives.hpp)
    /// `variance->round`, 0 where that is null: shapes of another round are not to be expected any more.
    mutable std::atomic<std::uint8_t> round{0};
    std::uint8_t few = 0;  ///< how many of `few_parameters`; 0: look at `many_parameters`
    std::array<Parameter, 8> few_parameters{};
    std::vector<Parameter> many_parameters;
    std::string symbol;

    /// In the order in which they are looked at: those whose words may be leftovers come last.
    void set_parameters(std::vector<Parameter> found) {
        many_parameters = std::move(found);
        few = many_parameters.size() <= few_parameters.size() ? static_cast<std::uint8_t>(many_parameters.size())
                                                              : std::uint8_t{0};
        std::copy_n(many_parameters.begin(), few, few_parameters.begin());
    }
    [[nodiscard]] std::span<const Parameter> parameters() const {
        return few != 0 ? std::span(few_parameters.data(), few)
                        : std::span(many_parameters.data(), many_parameters.size());
    }
    /// The layout is known. False where the buffer is larger than any that is looked at.
    bool set_layout(const std::vector<ParameterPlace>& places);
    std::string label;
    std::string code;                    ///< names of the images of machine code that it may be in, with blanks between
    std::vector<std::string> variables;  ///< symbols of those that its module's code refers to
    abi::Word owner = 0;                 ///< its library, or module; 0: not known
    bool owner_is_library = false;
    std::uint64_t loads = 0;                          ///< images that were loaded until this was learnt
    mutable std::atomic<std::uint64_t> symbol_id{0};  ///< as `label_id`
    mutable std::atomic<std::uint64_t> code_id{0};
    /// Which bytes of its arguments differ too often to tell them; null: none that is known. Set by the launch shapes.
    mutable std::atomic<const ArgumentVariance*> variance{nullptr};
};

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
    std::uint32_t count_ = 0;
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
