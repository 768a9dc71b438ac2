// The one place for a tool that is told of each call, as CUPTI's callback API tells it.
#pragma once
#include <cstring>
#include <cstdint>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/abi_activity.hpp"

namespace fake {

struct Kernel;

namespace abi = streamsan::recorder::cuda::abi;
using abi::Status;
using abi::Word;

constexpr std::size_t most_ids = 1024;

/// What the device has done.
struct Work {
    abi::Activity kind;
    std::uint32_t correlation;
    abi::CopyKind copy{};      ///< of a copy
    std::uint32_t grid[3]{};   ///< these are a kernel's
    std::uint32_t block[3]{};  //
    std::uint32_t shared_bytes = 0;
    std::size_t kernels = 0;  ///< of a graph
};

/// Who subscribed, and to what. The fake libcupti writes it, libcuda and the runtime read it.
struct Tool {
    abi::CallbackFunction callback = nullptr;
    void* data = nullptr;
    bool enabled[4][most_ids]{};  ///< by domain and callback id
    void (*work)(const Work&) = nullptr;
};

/// A parameter structure: the arguments of a call as C lays out a structure of them.
template <class... Arguments>
class Parameters {
public:
    explicit Parameters(Arguments... arguments) { (add(arguments), ...); }
    [[nodiscard]] const void* data() const { return bytes_; }

private:
    template <class Argument>
    void add(const Argument& argument) {
        at_ = (at_ + alignof(Argument) - 1) / alignof(Argument) * alignof(Argument);
        std::memcpy(bytes_ + at_, &argument, sizeof argument);
        at_ += sizeof argument;
    }
    alignas(8) unsigned char bytes_[(sizeof(Arguments) + ... + 0) + 8 * (sizeof...(Arguments) + 1)]{};
    std::size_t at_ = 0;
};

/// One call as a subscriber sees it; fires at construction and in `returned`.
class SeenCall {
public:
    SeenCall(abi::Domain domain, std::uint32_t id, const char* name, const void* parameters, const char* symbol);
    ~SeenCall();
    SeenCall(const SeenCall&) = delete;
    SeenCall& operator=(const SeenCall&) = delete;
    void returned(Status status);

private:
    void fire(abi::CallbackSite site, const Status* status);

    abi::Domain domain_;
    std::uint32_t id_;
    abi::CallbackData call_{};
    std::uint64_t correlation_data_ = 0;
    bool outermost_ = false;  ///< of the calls that the subscriber is told of
};

/// A kernel of a graph's launch, as the Sanitizer API tells of it.
struct GraphKernel {
    Word node;
    std::uint64_t grid;
    const Kernel* kernel;
    const void* arguments[16];
};

void fire_resource(abi::Resource resource, const abi::ResourceData* data);

}  // namespace fake

extern "C" {
// Between the three libraries of the fake.
fake::Tool* fake_tool();
fake::Word fake_current_context();
void fake_set_current_context(fake::Word context);
std::size_t fake_graph_kernels(fake::Word executable, fake::GraphKernel* kernels, std::size_t most);
std::uint32_t fake_next_correlation();
std::uint32_t* fake_work_correlation();  ///< of the thread: what records of work that it issues have
bool fake_is_child();                    ///< the process was forked after the driver had been initialised
}
