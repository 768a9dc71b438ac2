// The recorder of one process: what all handlers share.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "recorder/memory/address_map.hpp"
#include "recorder/sites/sites.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder::cuda {

struct Driver;  // driver.hpp: the driver's functions that we call ourselves, found by dlsym

/// What `streamsan run` passes in STREAMSAN_RECORD, parsed by settings.cpp: `key=value` pairs, one a line, values
/// escaped.
struct Settings {
    bool sites = true;      ///< record call sites
    std::string output;     ///< F.sst of the run; other processes write F.<pid>.sst beside it
    std::string counter;    ///< the shared sequence counter
    std::string run;        ///< random id that the files of a run share
    std::string cupti;      ///< folders and files to look for libcupti in, ':' separated, before the usual ones
    std::string sanitizer;  ///< files that may be the Sanitizer API, ':' separated; "": the accesses of kernels are not
                            ///< asked for
    std::string patch;      ///< file with the functions that the Sanitizer API puts into kernels
    std::string kernels;    ///< regular expression: kernels whose accesses are asked for; "": all
    std::uint32_t accesses_first = 0;  ///< of launches of one kind only so many are looked at; 0: all
    std::uint64_t max_bytes = 0;
    bool host_accesses = false;  ///< notice accesses of the host to memory that work uses
    bool redact = false;         ///< leave out the arguments of processes and kernels
    std::string code;  ///< folder for the machine code of kernels, which `streamsan run` has made; "": none is kept
    std::string code_left_out;  ///< why, where that was chosen
    int root_pid = 0;           ///< of the first process (the one that `streamsan run` started)
    std::string omissions;      ///< file to which what cannot be recorded is appended, one line each (key `said`)
};

/// What every call looks at comes first, in two cache lines.
struct alignas(64) Recorder {
    AddressMap memory;
    std::unique_ptr<Writer> writer;
    std::unique_ptr<Sites> sites;
    std::atomic<std::uint32_t> captures{0};  ///< captures under way anywhere in the process
    bool host_accesses = false;              ///< they are recorded; set before the first call
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
