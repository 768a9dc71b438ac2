// The recorder of one process: what all handlers share.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "recorder/memory/address_map.hpp"
#include "recorder/run/settings.hpp"
#include "recorder/sites/sites.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder::cuda {

struct Driver;  // driver.hpp: the driver's functions that we call ourselves, found by dlsym

/// What every call looks at comes first, in two cache lines.
struct alignas(64) Recorder {
    AddressMap memory;
    std::unique_ptr<Writer> writer;
    std::unique_ptr<Sites> sites;
    std::atomic<std::uint32_t> captures{0};  ///< captures under way anywhere in the process
    bool host_accesses = false;              ///< they are recorded; set before the first call
    bool poisons = false;                    ///< what was given back is overwritten; the same
    bool times = false;                      ///< when work ran is recorded; the same
    std::atomic<bool> ready{false};          ///< cuInit has finished: own driver calls are allowed
    const Driver* driver = nullptr;
    Settings settings;
};

/// Null until injection has succeeded, and in a process that does not record. Lives until the process ends: never
/// destroyed.
Recorder* recorder();

/// Whether the older part of the file is rotated away: then what is alive has to be restated, so it is remembered.
inline bool rotates() { return recorder()->settings.max_bytes != 0; }

/// Opens the process's file and makes the recorder. False with the reason, one line, where that is impossible.
bool start_recorder(const Settings& settings, std::string& reason);
/// cuInit has finished: the driver may be called from here on.
void driver_is_ready();

}  // namespace streamsan::recorder::cuda
