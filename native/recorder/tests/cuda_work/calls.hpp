// Synthetic calls of the driver: what dispatch would make of CUPTI's callbacks, without either. For tests of the
// handlers.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/recorder.hpp"

namespace synthetic {

namespace cuda = streamsan::recorder::cuda;
namespace abi = cuda::abi;

/// A kernel of the fake driver: name and parameters. Its address is its handle.
struct Function {
    const char* symbol;
    std::vector<std::pair<std::size_t, std::size_t>> parameters;  ///< offset, size
    [[nodiscard]] std::uint64_t handle() const { return reinterpret_cast<std::uint64_t>(this); }
};

/// Starts a recorder that writes `path`. `max_bytes` 0: without limit.
void start(const std::string& path, std::uint64_t max_bytes = 0);
void stop();

/// The driver tells parameters (the default), or is too old to.
void driver_tells_parameters(bool tells);
/// Sizes that cuMemGetAddressRange answers, by base address.
std::map<std::uint64_t, std::uint64_t>& driver_ranges();

/// Context that is current to the calling thread at the next calls.
void current(std::uint64_t context);

/// One call: arguments in the order of the API, both callbacks, with `body` between them (what the driver does).
void call(std::string_view api, std::initializer_list<std::uint64_t> arguments, std::int32_t status = 0,
          const std::function<void()>& body = {});
void call_per_thread(std::string_view api, std::initializer_list<std::uint64_t> arguments);

/// cuLaunchKernel with these arguments.
void launch(const Function& function, std::uint64_t stream, std::initializer_list<const void*> arguments,
            std::int32_t status = 0);

/// The same call again and again, with nothing around the handlers.
class PreparedCall {
public:
    PreparedCall(std::string_view api, std::initializer_list<std::uint64_t> arguments, const char* symbol = nullptr);
    void run();

private:
    alignas(8) unsigned char parameters_[256]{};
    const char* symbol_;
    const cuda::Callback* callback_;
    cuda::Handler handler_;
};
PreparedCall prepared_launch(const Function& function, const void** arguments);

/// Address of a variable, as an argument.
template <class T>
std::uint64_t at(T& variable) {
    return reinterpret_cast<std::uint64_t>(&variable);
}

// What nearly every scenario needs.
void stream(std::uint64_t handle);
void event(std::uint64_t handle);
std::uint64_t allocate(std::uint64_t address, std::uint64_t size);
std::uint64_t allocate_async(std::uint64_t address, std::uint64_t size, std::uint64_t stream);
std::uint64_t pinned(std::uint64_t address, std::uint64_t size);

}  // namespace synthetic
